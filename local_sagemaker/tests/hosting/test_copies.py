"""Placement of copies of inference components on the instances of an endpoint."""

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from local_sagemaker.dashboard_events import DashboardEvent, EventKind
from local_sagemaker.hosting import launch
from local_sagemaker.hosting.capacity import Capacity, Resources
from local_sagemaker.hosting.copies import NO_ROOM
from local_sagemaker.hosting.fleet import Fleet
from local_sagemaker.hosting.instance import RunningServer
from local_sagemaker.hosting.launch import Host
from local_sagemaker.hosting.pools import NO_CAPACITY, Capacities
from local_sagemaker.hosting.single_model_container import SingleModelContainer
from local_sagemaker.quotas import AccountQuotas
from local_sagemaker.sagemaker.component_operations import IDLE_SECONDS, HostingOperations
from local_sagemaker.tests.hosting.test_fleet import FakeTriton
from local_sagemaker.tests.sagemaker.conftest import FakeClock
from local_sagemaker.tests.sagemaker.test_component_operations import ROLE
from local_sagemaker.tests.support.waiting import eventually

MIB = 1 << 20


class Server(FakeTriton):
    """The server of a copy, healthy until it is stopped."""

    started: ClassVar[list[FakeTriton]] = []

    def resident_bytes(self) -> int:
        return 512 * MIB

    def cpu_seconds(self) -> float:
        return 3.0


class Account:
    """An endpoint with inference components; `events` are sent to the dashboard."""

    def __init__(self, folder: Path, s3: Any) -> None:
        self.followed_logs: list[tuple[str, str]] = []
        self.events: list[DashboardEvent] = []
        self.capacities = Capacities({"ml.g6.xlarge": 0})
        s3.objects["models", "m.tar.gz"] = b""
        host = Host(
            SimpleNamespace(isolated=False),  # type: ignore[arg-type]
            folder,
            folder,
            s3,
            max_processes=1,
            follow_log=lambda group, stream, _: self.followed_logs.append((group, stream)),
            report_event=self.events.append,
            capacities=self.capacities,
        )
        self.hosting = HostingOperations(
            host,
            fleet=Fleet,
            clock=FakeClock,
            alarms=lambda _: {},
            is_assumable=lambda _: True,
            quota_value=AccountQuotas({"ml.c5.xlarge for endpoint usage": 1}).value,
            scalable_variants=lambda _: (),
            deregister=lambda _: None,
        )
        container = {"Image": "triton", "ModelDataUrl": "s3://models/m.tar.gz"}
        self.hosting.create_model({"ModelName": "m", "PrimaryContainer": container})

    def create_endpoint(self, instance_type: str, **scaling: int) -> None:
        managed = {"ManagedInstanceScaling": {"Status": "ENABLED", **scaling}} if scaling else {}
        variant = {"VariantName": "only", "InstanceType": instance_type, **managed}
        config = {
            "EndpointConfigName": "c",
            "ExecutionRoleArn": ROLE,
            "ProductionVariants": [{**variant, "InitialInstanceCount": 1}],
        }
        self.hosting.create_endpoint_config(config)
        self.hosting.create_endpoint({"EndpointName": "e", "EndpointConfigName": "c"})
        eventually(lambda: self.endpoint()["EndpointStatus"] == "InService")

    def create_component(self, name: str, copies: int = 1, **requirements: float) -> Any:
        """Create a component; wait until it is in service or failed; return its description."""
        self.hosting.create_inference_component(
            {
                "InferenceComponentName": name,
                "EndpointName": "e",
                "Specification": {"ModelName": "m", "ComputeResourceRequirements": requirements},
                "RuntimeConfig": {"CopyCount": copies},
            }
        )
        return self.wait(name)

    def scale(self, name: str, copies: int) -> Any:
        desired = {"DesiredRuntimeConfig": {"CopyCount": copies}}
        request = {"InferenceComponentName": name, **desired}
        self.hosting.update_inference_component_runtime_config(request)
        return self.wait(name)

    def wait(self, name: str) -> Any:
        """Wait until a component is in service or failed, and return its description."""
        component = self.hosting.components[name]
        eventually(lambda: component.status in ("InService", "Failed"))
        return component.describe()

    def endpoint(self) -> Any:
        """Return the description of the endpoint."""
        return self.hosting.describe_endpoint({"EndpointName": "e"})

    def instances(self) -> int:
        (variant,) = self.endpoint()["ProductionVariants"]
        assert variant["CurrentInstanceCount"] == variant["DesiredInstanceCount"]
        return int(variant["CurrentInstanceCount"])

    def instance_events(self) -> list[DashboardEvent]:
        """Return the events of instances and copies."""
        return [event for event in self.events if event.instance]

    def placement(self) -> list[list[str]]:
        """Return the names of the copies on each instance."""
        fleet: Any = self.hosting.endpoints_by_name["e"].fleet
        hosts = [instance.healthy_server.container for instance in fleet.serving()["only"]]
        return [[status.target_model for status in host.statuses()] for host in hosts]


@pytest.fixture
def account(tmp_path: Path, s3: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Account]:
    def start_server(_: Any, endpoint: str, folder: Path, *__: Any) -> RunningServer:
        server: Any = Server(None)
        container = SingleModelContainer(endpoint, "/invocations", archive="m")
        return RunningServer(server, container, folder, Capacity(1, 1))

    monkeypatch.setattr(launch, "_create_single_model_server", start_server)
    account = Account(tmp_path, s3)
    yield account
    account.hosting.stop()


def test_copies_share_an_instance_by_reserved_memory(account: Account) -> None:
    account.create_endpoint("ml.m5.xlarge")
    account.create_component("a", 2, MinMemoryRequiredInMb=4096)
    account.create_component("b", MinMemoryRequiredInMb=8192)
    assert account.placement() == [["a/1", "a/2", "b/1"]]
    fleet: Any = account.hosting.endpoints_by_name["e"].fleet
    (instance,) = fleet.serving()["only"]
    server = instance.healthy_server.triton
    assert (server.resident_bytes(), server.cpu_seconds()) == (3 * 512 * MIB, 9.0)
    assert server.reserved_percentages() == Resources(100.0, 0, 0)


@pytest.mark.parametrize(
    ("instance_type", "requirements"),
    [
        ("ml.m5.xlarge", {"MinMemoryRequiredInMb": 16385}),
        ("ml.m5.xlarge", {"MinMemoryRequiredInMb": 1024, "NumberOfCpuCoresRequired": 4.25}),
        ("ml.g6.12xlarge",
         {"MinMemoryRequiredInMb": 1024, "NumberOfAcceleratorDevicesRequired": 5.0}),
        ("ml.g5.xlarge", {"MinMemoryRequiredInMb": 4096}),
    ],
)  # fmt: skip
def test_copy_larger_than_an_instance_fails(
    account: Account, instance_type: str, requirements: dict[str, Any]
) -> None:
    account.create_endpoint(instance_type, MinInstanceCount=0, MaxInstanceCount=4)
    failed = account.create_component("large", **requirements)
    assert failed["InferenceComponentStatus"] == "Failed"
    assert failed["FailureReason"] == NO_ROOM
    assert account.instances() == 1


def test_managed_scaling_adds_instances_up_to_the_maximum(
    account: Account,
) -> None:
    account.create_endpoint("ml.m5.xlarge", MinInstanceCount=1, MaxInstanceCount=2)
    account.create_component("a", 2, MinMemoryRequiredInMb=10_000)
    assert (account.instances(), account.placement()) == (2, [["a/1"], ["a/1"]])
    refused = account.scale("a", 3)
    assert refused["FailureReason"] == NO_ROOM
    assert refused["RuntimeConfig"] == {"DesiredCopyCount": 2, "CurrentCopyCount": 2}
    assert account.instances() == 2


def test_added_instances_respect_quota_and_capacity(account: Account) -> None:
    account.create_endpoint("ml.c5.xlarge", MinInstanceCount=0, MaxInstanceCount=2)
    failed = account.create_component("a", 2, MinMemoryRequiredInMb=5000)
    assert "ml.c5.xlarge for endpoint usage" in failed["FailureReason"]
    account.capacities._limits["ml.c5.xlarge"] = 1
    account.hosting._quota_value = lambda _: 9
    assert account.create_component("b", 2, MinMemoryRequiredInMb=5000)["FailureReason"] == (
        NO_CAPACITY
    )


def test_idle_instances_end_down_to_the_minimum(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    account.create_endpoint("ml.m5.xlarge", MinInstanceCount=0, MaxInstanceCount=3)
    account.create_component("a", 3, MinMemoryRequiredInMb=10_000)
    account.scale("a", 1)
    account.hosting.scale_instances()
    assert account.instances() == 3
    now = time.monotonic()
    monkeypatch.setattr("time.monotonic", lambda: now + IDLE_SECONDS + 1)
    account.hosting.scale_instances()
    assert (account.instances(), account.placement()) == (1, [["a/1"]])
    account.scale("a", 0)
    account.hosting.scale_instances()
    assert account.instances() == 1
    monkeypatch.setattr("time.monotonic", lambda: now + 2 * IDLE_SECONDS + 1)
    account.hosting.scale_instances()
    assert (account.instances(), account.placement()) == (0, [])
    account.scale("a", 1)
    assert (account.instances(), account.placement()) == (1, [["a/1"]])


def test_higher_minimum_adds_instances(account: Account) -> None:
    account.create_endpoint("ml.m5.xlarge", MinInstanceCount=1, MaxInstanceCount=3)
    config: Any = account.hosting.endpoints_by_name["e"].plan.config
    config["ProductionVariants"][0]["ManagedInstanceScaling"]["MinInstanceCount"] = 2
    account.hosting.scale_instances()
    assert account.instances() == 2


def test_copy_has_its_capacity_log_stream_and_events(account: Account) -> None:
    account.create_endpoint("ml.m5.xlarge")
    account.create_component("a", MinMemoryRequiredInMb=1024, NumberOfCpuCoresRequired=2.0)
    fleet: Any = account.hosting.components["a"].fleet
    (copy,) = fleet.serving()["a"]
    assert (copy.healthy_server.capacity.memory, copy.healthy_server.capacity.cpus) == (
        1024 * MIB,
        2.0,
    )
    account.scale("a", 0)
    (started, healthy, *copy_events) = account.instance_events()
    assert [started.kind, healthy.kind] == [
        EventKind.INSTANCE_STARTED,
        EventKind.INSTANCE_HEALTHY,
    ]
    assert [(event.kind, event.model, event.instance) for event in copy_events] == [
        (kind, "a/1", started.instance)
        for kind in (
            EventKind.MODEL_LOADING,
            EventKind.MODEL_LOADED,
            EventKind.MODEL_UNLOADING,
            EventKind.MODEL_UNLOADED,
        )
    ]
    stream = f"only/{started.instance}-1"
    assert account.followed_logs == [("/aws/sagemaker/InferenceComponents/a", stream)]
