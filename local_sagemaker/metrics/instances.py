"""Metrics of instances: concurrent calls, processor, memory and disk utilization, models."""

import time
from collections.abc import Callable, Iterable
from itertools import product

from local_sagemaker.hosting.copies import CopyHost
from local_sagemaker.hosting.fleet import Fleet
from local_sagemaker.hosting.instance import Instance
from local_sagemaker.metrics import names
from local_sagemaker.metrics.metric_buffer import MetricBuffer, MetricDimensions
from local_sagemaker.metrics.processors import Processors

INTERVAL_SECONDS = 10
"""Interval of measuring concurrent calls; their metric has the same period."""

Fleets = Callable[[], Iterable[tuple[str, Fleet]]]
"""A function that returns all fleets, each with the name of its endpoint."""


class InstanceMetrics:
    """Measurement of the serving instances. A minute is divided by `speed`."""

    def __init__(
        self,
        fleets: Fleets,
        buffer: MetricBuffer,
        *,
        speed: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fleets, self._buffer = fleets, buffer
        self._speed, self._clock = speed, clock
        self._minute = 0
        self._processors = Processors(clock)

    def measure(self) -> None:
        """Measure concurrent calls, and once a minute also the utilization."""
        minute = int(self._clock() * self._speed / names.MINUTE)
        is_new_minute, self._minute = minute != self._minute, minute
        serving: dict[MetricDimensions, list[Instance]] = {}
        for endpoint, fleet in self._fleets():
            for variant, instances in fleet.serving().items():
                dimensions = MetricDimensions(
                    endpoint, variant, component=variant if fleet.serves_component else None
                )
                if not any(map(CopyHost.find, instances)):  # calls are counted at the copies
                    self._measure_concurrency(
                        dimensions, instances, fleet.counts.get(variant, len(instances))
                    )
                if instances:
                    serving[dimensions] = instances
        if is_new_minute:
            self._measure_utilization(serving)

    def _measure_utilization(self, serving: dict[MetricDimensions, list[Instance]]) -> None:
        """Measure processors, memory, disk and models.

        Disk utilization counts only the models, memory utilization the container's processes.
        """
        servers = [
            instance.healthy_server for instances in serving.values() for instance in instances
        ]
        cpu_percentages = self._processors.percentages(server for server in servers if server)
        for dimensions, instances in serving.items():
            family = _family(dimensions)
            for instance in instances:
                if (server := instance.healthy_server) is None:
                    continue
                values = {
                    family.memory: _percent(server.triton.resident_bytes(), server.capacity.memory),
                    family.cpu: _cpu(
                        cpu_percentages.get(server.id),
                        server.capacity.cpus,
                        normalized=dimensions.component is not None,
                    ),
                    names.LOADED_MODELS: server.container.loaded_models,
                }
                if dimensions.component is None:
                    used_bytes = server.container.disk_bytes
                    values[names.DISK] = _percent(used_bytes, server.capacity.disk)
                if isinstance(host := server.container, CopyHost):
                    reserved = host.reserved_percentages()
                    values[names.CPU_RESERVATION] = reserved.cpus
                    values[names.MEMORY_RESERVATION] = reserved.memory
                    values[names.GPU_RESERVATION] = reserved.accelerators
                available = [(name, value) for name, value in values.items() if value is not None]
                self._buffer.add_all(available, instance_dimensions(instance, dimensions))

    def _measure_concurrency(
        self, dimensions: MetricDimensions, instances: list[Instance], count: int
    ) -> None:
        """Measure the maximum number of concurrent calls of each container since the last call.

        If a process represents several instances, the maximum is divided by their number. AWS
        publishes the minimum and the maximum of ten seconds (names.CONCURRENT_REQUESTS); at a light
        load, its peaks were many times the average (aws-samples/sample-kokoro-tts-for-ai-agents,
        docs/autoscaling-capacity-model.md).
        """
        family = _family(dimensions)
        for instance in instances:
            all_dimensions = instance_dimensions(instance, dimensions)
            for metric, value_dimensions in product(family.zero_without_calls, all_dimensions):
                self._buffer.add_zero_if_empty(metric, value_dimensions)
            max_calls, instance.max_calls = instance.max_calls, instance.calls
            if max_calls:
                value = max_calls * len(instances) / max(count, len(instances))
                self._buffer.add_all([(family.concurrency, value)], all_dimensions)


def _family(dimensions: MetricDimensions) -> names.MetricFamily:
    return names.INSTANCE_METRICS if dimensions.component is None else names.COPY_METRICS


def instance_dimensions(instance: Instance, dimensions: MetricDimensions) -> list[MetricDimensions]:
    """Return the variant's dimensions, and for an instance pool also those with InstanceType."""
    pool = instance.pool
    if pool is None or not pool.metrics_by_type:
        return [dimensions]
    return [dimensions, dimensions._replace(instance_type=pool.instance_type)]


def _percent(used: int, total: int) -> float:
    """Return a utilization: MemoryUtilization and DiskUtilization have the "value range 0%-100%".

    A copy can use more than it reserves; "the *Normalized variants report 0-100%" (Deepgram,
    "Amazon SageMaker: Enhanced Metrics").
    """
    return min(100.0, round(100 * used / total, 2))


def _cpu(percent: float | None, cpus: float, *, normalized: bool) -> float | None:
    """Return a processor utilization from the percentage of one processor.

    "if there are four CPUs, the CPUUtilization range is 0%-400%" (monitoring-cloudwatch). This
    machine can have more processors than the instance.
    """
    if percent is None:
        return None
    percent = min(percent, 100 * cpus)
    return percent / cpus if normalized else percent
