"""Metrics of instances: concurrent calls, processors, memory, volume, models."""

import time
from collections.abc import Callable, Iterable

from local_sagemaker.hosting.copies import CopyHost
from local_sagemaker.hosting.fleet import Fleet
from local_sagemaker.hosting.instance import Instance
from local_sagemaker.metrics import names
from local_sagemaker.metrics.metric_buffer import MetricBuffer, MetricDimensions
from local_sagemaker.metrics.processors import Processors

INTERVAL_SECONDS = 10
"""Measurement interval of concurrent calls, which is the period of their metric."""

Fleets = Callable[[], Iterable[tuple[str, Fleet]]]
"""Returns the existing fleets, each with its endpoint's name."""


class InstanceMetrics:
    """Measures the serving instances. Minutes are divided by `speed`."""

    def __init__(
        self,
        fleets: Fleets,
        collected: MetricBuffer,
        *,
        speed: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fleets, self._collected = fleets, collected
        self._speed, self._clock = speed, clock
        self._minute = 0
        self._processors = Processors(clock)

    def measure(self) -> None:
        """Measure concurrent calls, and once a minute everything else."""
        minute = int(self._clock() * self._speed / names.MINUTE)
        is_new, self._minute = minute != self._minute, minute
        serving: dict[MetricDimensions, list[Instance]] = {}
        for endpoint, fleet in self._fleets():
            for variant, instances in fleet.serving().items():
                place = MetricDimensions(
                    endpoint, variant, component=variant if fleet.serves_component else None
                )
                if not any(map(CopyHost.find, instances)):  # calls are counted at the copies
                    self._requests(place, instances, fleet.counts.get(variant, len(instances)))
                if instances:
                    serving[place] = instances
        if is_new:
            self._each_minute(serving)

    def _each_minute(self, serving: dict[MetricDimensions, list[Instance]]) -> None:
        """Measure processors, memory, volume and models.

        The volume counts the models only, and memory the container's processes.
        """
        every = [instance.running for instances in serving.values() for instance in instances]
        used = self._processors.percentages(server for server in every if server)
        for place, instances in serving.items():
            family = _family(place)
            for instance in instances:
                if (server := instance.running) is None:
                    continue
                cpu = used.get(server.id)
                values = {
                    family.memory: _percent(server.triton.resident_bytes(), server.capacity.memory),
                    family.cpu: cpu and cpu / server.capacity.cpus,
                    names.LOADED_MODELS: server.container.loaded_models,
                }
                if place.component is None:
                    disk = _percent(server.container.disk_bytes, server.capacity.disk)
                    values[names.DISK] = disk
                if isinstance(host := server.container, CopyHost):
                    reserved = host.reservations()
                    values[names.CPU_RESERVATION] = reserved.cpus
                    values[names.MEMORY_RESERVATION] = reserved.memory
                    values[names.GPU_RESERVATION] = reserved.accelerators
                measured = [(name, value) for name, value in values.items() if value is not None]
                self._collected.add_all(measured, instance_dimensions(instance, place))

    def _requests(self, place: MetricDimensions, instances: list[Instance], count: int) -> None:
        """Measure the maximum of concurrent calls of each container.

        If a process represents several instances, it is divided by their number. The metric's
        statistics are Min and Max of ten seconds (names.CONCURRENT_REQUESTS); on AWS, its peaks
        were many times the average at a light load (aws-samples/sample-kokoro-tts-for-ai-agents,
        docs/autoscaling-capacity-model.md).
        """
        family = _family(place)
        for each in {
            each for instance in instances for each in instance_dimensions(instance, place)
        }:
            for metric in family.zero_without_calls:
                self._collected.expect(metric, each)
        for instance in instances:
            most, instance.max_calls = instance.max_calls, instance.calls
            if most:
                value = most * len(instances) / max(count, len(instances))
                concurrency = [(family.concurrency, value)]
                self._collected.add_all(concurrency, instance_dimensions(instance, place))


def _family(place: MetricDimensions) -> names.Family:
    return names.OF_INSTANCES if place.component is None else names.OF_COPIES


def instance_dimensions(instance: Instance, place: MetricDimensions) -> list[MetricDimensions]:
    """Return the dimensions of an instance's values: the variant's, and with InstanceType."""
    pool = instance.pool
    if pool is None or not pool.metrics_by_type:
        return [place]
    return [place, place._replace(instance_type=pool.instance_type)]


def _percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 2)
