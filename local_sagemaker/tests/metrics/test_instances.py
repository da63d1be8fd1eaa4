"""Metrics of instances and of copies of inference components."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from local_sagemaker.hosting.capacity import Capacity, Resources
from local_sagemaker.hosting.copies import CopyHost, Slot
from local_sagemaker.hosting.pools import Pool
from local_sagemaker.metrics.instances import InstanceMetrics
from local_sagemaker.metrics.metric_buffer import MetricDimensions

G6, G5 = "ml.g6.xlarge", "ml.g5.xlarge"


class Fleet:
    """A fake fleet: two instances with processes; `counts` has the instance count."""

    serves_component = False

    def __init__(self, folder: Path, *, loaded: int | None = 3) -> None:
        self.counts = {"only": 2}
        self.seconds = 0.0
        self.instances = [self._instance(folder / str(number), loaded) for number in range(2)]

    def serving(self) -> dict[str, list[Any]]:
        return {"only": list(self.instances)}

    def _instance(self, folder: Path, loaded: int | None) -> Any:
        triton = SimpleNamespace(cpu_seconds=lambda: self.seconds, resident_bytes=lambda: 250)
        container = SimpleNamespace(loaded_models=loaded, disk_bytes=30)
        server = SimpleNamespace(
            triton=triton,
            container=container,
            id=str(folder),
            capacity=Capacity(memory=1000, disk=40, cpus=4),
        )
        return SimpleNamespace(calls=0, max_calls=0, healthy_server=server, pool=None)


class FakeBuffer:
    """A fake `MetricBuffer`: values by metric name."""

    def __init__(self) -> None:
        self.values: dict[str, list[float]] = {}
        self.dimension_sets: set[MetricDimensions] = set()
        self.expected: set[tuple[str, MetricDimensions]] = set()

    def add_all(
        self, measured: list[tuple[Any, float]], dimension_sets: list[MetricDimensions]
    ) -> None:
        for metric, value in measured:
            self.values.setdefault(metric.name, []).append(value)
        self.dimension_sets.update(dimension_sets)

    def add_zero_if_empty(self, metric: Any, dimensions: MetricDimensions) -> None:
        self.expected.add((metric.name, dimensions))

    def take(self) -> dict[str, list[float]]:
        values, self.values = self.values, {}
        return values


class Measured:
    """The metrics of a fleet of the endpoint `text`."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet, self.now, self.buffer = fleet, 0.0, FakeBuffer()
        self.fleets: list[Any] = [("text", fleet)]
        buffer: Any = self.buffer
        self._metrics = InstanceMetrics(
            lambda: self.fleets, buffer, speed=1, clock=lambda: self.now
        )

    def after(self, seconds: float, *, cpu: float = 0) -> dict[str, list[float]]:
        self.now += seconds
        self.fleet.seconds += cpu
        self._metrics.measure()
        return self.buffer.take()


@pytest.fixture
def measured(tmp_path: Path) -> Measured:
    return Measured(Fleet(tmp_path))


def test_instance_metrics_are_collected_every_minute(measured: Measured) -> None:
    first = measured.after(60, cpu=5)
    assert first == {
        "MemoryUtilization": [25, 25],
        "DiskUtilization": [75, 75],
        "LoadedModelCount": [3, 3],
    }
    assert measured.after(10) == {}
    assert measured.after(50, cpu=90)["CPUUtilization"] == [150, 150]  # percent of one core
    assert measured.buffer.dimension_sets == {MetricDimensions("text", "only")}


def test_cpu_utilization_is_never_negative(measured: Measured) -> None:
    measured.after(60, cpu=100)
    assert measured.after(60, cpu=-40)["CPUUtilization"] == [0, 0]


def test_utilization_has_the_documented_range(measured: Measured) -> None:
    """A machine can have more processors than the instance, and memory can be exceeded."""
    for instance in measured.fleet.instances:
        instance.healthy_server.capacity = Capacity(memory=100, disk=20, cpus=4)
    measured.after(60)
    values = measured.after(60, cpu=60 * 16)
    assert values["CPUUtilization"] == [400, 400]
    assert values["MemoryUtilization"] == values["DiskUtilization"] == [100, 100]


def test_replaced_instance_has_no_metrics(measured: Measured) -> None:
    measured.after(60, cpu=100)
    measured.fleet.instances[0].healthy_server = None
    assert len(measured.after(60)["CPUUtilization"]) == 1


def test_concurrent_requests_are_the_maximum_of_each_instance(
    measured: Measured,
) -> None:
    measured.after(60)
    first, second = measured.fleet.instances
    first.calls, first.max_calls = 0, 6  # all calls have ended
    assert measured.after(10) == {"ConcurrentRequestsPerModel": [6]}
    assert measured.after(10) == {}
    first.calls = first.max_calls = 6
    second.calls, second.max_calls = 3, 4
    measured.fleet.counts = {"only": 5}  # three instances have no process
    assert measured.after(10) == {"ConcurrentRequestsPerModel": [2.4, 1.6]}
    assert measured.after(10) == {"ConcurrentRequestsPerModel": [2.4, 1.2]}


def test_scaling_metrics_are_0_without_invocations(measured: Measured) -> None:
    measured.fleets.append(
        (
            "starting",
            SimpleNamespace(counts={}, serves_component=False, serving=lambda: {"only": []}),
        )
    )
    measured.after(10)
    dimensions = MetricDimensions("text", "only")
    assert measured.buffer.expected == {
        ("Invocations", dimensions),
        ("InvocationsPerInstance", dimensions),
        ("ConcurrentRequestsPerModel", dimensions),
    }


def test_pools_have_metrics_by_instance_type(measured: Measured) -> None:
    """realtime-endpoints-heterogeneous: EndpointName, VariantName, InstanceType."""
    first, second = measured.fleet.instances
    first.pool, second.pool = Pool(G6, "m"), Pool(G5, "m")
    measured.after(60)
    variant, *types = (MetricDimensions("text", "only", None, name) for name in (None, G6, G5))
    assert measured.buffer.dimension_sets == {variant, *types}
    assert {dimensions for _, dimensions in measured.buffer.expected} == {variant, *types}
    first.pool = second.pool = Pool(G6, "m", metrics_by_type=False)
    measured.buffer.dimension_sets.clear()
    measured.after(60)
    assert measured.buffer.dimension_sets == {variant}


def test_copies_have_metrics_of_their_component(tmp_path: Path) -> None:
    copies = Fleet(tmp_path)
    copies.serves_component = True
    for copy in copies.instances:
        copy.healthy_server.capacity = Capacity(memory=500, disk=40, cpus=2.0)
        copy.max_calls = 3
    measured = Measured(copies)
    measured.after(60)
    for copy in copies.instances:
        copy.max_calls = 3
    assert measured.after(60, cpu=60) == {
        "ConcurrentRequestsPerCopy": [3, 3],
        "MemoryUtilizationNormalized": [50, 50],
        "CPUUtilizationNormalized": [50, 50],
        "LoadedModelCount": [3, 3],
    }
    assert measured.buffer.dimension_sets == {MetricDimensions("text", "only", component="only")}
    assert {name for name, _ in measured.buffer.expected} == {
        "Invocations",
        "InvocationsPerCopy",
        "ConcurrentRequestsPerCopy",
    }


def test_instances_of_copies_have_reservation_metrics(tmp_path: Path) -> None:
    host = CopyHost("i-1", {"VariantName": "only", "InstanceType": "ml.g6.12xlarge"})
    reservation = Resources(memory=host.resources.memory / 4, cpus=12, accelerators=1)
    host.slots.append(
        Slot("ml.g6.12xlarge", "m", host=host, component="times", number=1, reservation=reservation)
    )
    server = SimpleNamespace(
        triton=host, container=host, id="i-1", capacity=Capacity(memory=1000, disk=40)
    )
    fleet = Fleet(tmp_path)
    fleet.instances = [SimpleNamespace(calls=0, max_calls=0, healthy_server=server, pool=None)]
    measured = Measured(fleet)
    assert measured.after(60) == {
        "MemoryUtilization": [0],
        "DiskUtilization": [0],
        "CPUReservation": [25],
        "MemoryReservation": [25],
        "GPUReservation": [25],
    }
    assert measured.buffer.expected == set()
