"""What is measured of instances: calls, processors, memory, volume, models; GPUs by a trace."""

import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from local_sagemaker.hosting.fleet import Fleet
from local_sagemaker.hosting.instance import Instance, Running
from local_sagemaker.metrics import names
from local_sagemaker.metrics.collected import Collected, Place
from local_sagemaker.metrics.gpu_trace import GpuTrace
from local_sagemaker.metrics.names import Metric

EVERY_SECONDS = 10
"""Between two looks at the calls under way, whose metric has this pace."""

Fleets = Callable[[], Iterable[tuple[str, Fleet]]]
"""Returns the fleets that there are, each with its endpoint's name."""


class InstanceMetrics:
    """Measures the instances that serve. At a `speed`, minutes are so much shorter."""

    def __init__(
        self,
        fleets: Fleets,
        collected: Collected,
        *,
        speed: float,
        gpus: GpuTrace | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fleets, self._collected, self._gpus = fleets, collected, gpus
        self._speed, self._clock = speed, clock
        self._minute = 0
        self._processors: dict[Path, tuple[float, float]] = {}  # time and seconds, by instance
        self._serving_since: dict[Place, float] = {}

    def measure(self) -> None:
        """Measure the calls under way, and what is measured once a minute if it is time."""
        minute = int(self._clock() * self._speed / names.MINUTE)
        whole = minute != self._minute
        self._minute = minute
        seen: set[Path] = set()
        places: set[Place] = set()
        for endpoint, fleet in self._fleets():
            for variant, instances in fleet.serving().items():
                place = Place(endpoint, variant)
                self._requests(place, instances, fleet.counts.get(variant, len(instances)))
                if not whole or not instances:
                    continue
                places.add(place)
                self._gpu(place, instances)
                for running in filter(None, (it.running for it in instances)):
                    seen.add(running.folder)
                    for metric, value in self._of(running):
                        self._collected.add(metric, place, value)
        if whole:
            self._processors = {it: self._processors[it] for it in seen if it in self._processors}
            self._serving_since = {it: self._serving_since[it] for it in places}

    def _requests(self, place: Place, instances: list[Instance], count: int) -> None:
        """The most calls at once of each container, also where one process stands for several.

        The metric's statistics are Min and Max of ten seconds (names.CONCURRENT_REQUESTS), and AWS
        was seen to have peaks in it that are many times the average at a light load
        (aws-samples/sample-kokoro-tts-for-ai-agents, docs/autoscaling-capacity-model.md).
        """
        for metric in names.ZERO_WITHOUT_CALLS if instances else ():
            self._collected.expect(metric, place)
        for instance in instances:
            most, instance.most_calls = instance.most_calls, instance.calls
            if most:
                value = most * len(instances) / max(count, len(instances))
                self._collected.add(names.CONCURRENT_REQUESTS, place, value)

    def _gpu(self, place: Place, instances: list[Instance]) -> None:
        since = self._serving_since.setdefault(place, self._clock())
        if self._gpus is None:
            return
        seconds = (self._clock() - since) * self._speed
        load = self._gpus.at(place.endpoint, place.variant, seconds)
        if load:
            for _ in instances:
                self._collected.add(names.GPU, place, load.utilization)
                self._collected.add(names.GPU_MEMORY, place, load.memory)

    def _of(self, running: Running) -> Iterator[tuple[Metric, float]]:
        """Yield what is measured of an instance; of its processors once there are two times.

        The volume is full of models alone, and memory is used by the container's processes.
        """
        now, used = self._clock(), running.triton.cpu_seconds()
        before = self._processors.get(running.folder)
        self._processors[running.folder] = now, used
        if before and now > before[0]:
            yield names.CPU, round(max(0.0, used - before[1]) / (now - before[0]) * 100, 2)
        capacity, container = running.capacity, running.container
        yield names.MEMORY, _percent(running.triton.resident_bytes(), capacity.memory)
        yield names.DISK, _percent(container.disk_bytes, capacity.disk)
        if container.loaded_models is not None:
            yield names.LOADED_MODELS, container.loaded_models


def _percent(part: int, whole: int) -> float:
    return round(100 * part / whole, 2)
