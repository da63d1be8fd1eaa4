"""The state of the dashboard, made from fake endpoints, alarms and components."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from local_sagemaker.autoscaling.targets import RegisteredTarget, TargetKey
from local_sagemaker.dashboard_events import ignore_event
from local_sagemaker.hosting.capacity import Capacity
from local_sagemaker.hosting.container import ModelStatus, Phase
from local_sagemaker.sagemaker.component import Component, component_plan
from local_sagemaker.sagemaker.endpoint import Endpoint
from local_sagemaker.sagemaker.registry import HostingPlan
from local_sagemaker.tests.autoscaling.conftest import CloudWatch
from local_sagemaker.watch.events import Events
from local_sagemaker.watch.rates import Traffic
from local_sagemaker.watch.state import StateReader, Usage

KEY = TargetKey(
    "sagemaker", "endpoint/text/variant/only_variant", "sagemaker:variant:DesiredInstanceCount"
)
TRACKING = {
    "TargetValue": 60.0,
    "PredefinedMetricSpecification": {"PredefinedMetricType": "SomeMetric"},
}
MINILM = "minilm-0123456789ab.tar.gz"


def plan(config: str, *variants: str) -> HostingPlan:
    configs = [
        {"VariantName": variant, "ModelName": "m", "InstanceType": "ml.g5.xlarge"}
        for variant in variants
    ]
    container = {"Mode": "MultiModel"}
    return HostingPlan(
        {"EndpointConfigName": config, "ProductionVariants": configs},
        {"m": {"PrimaryContainer": container}},
    )


def variant_description(name: str, count: int = 2) -> dict[str, Any]:
    return {
        "VariantName": name,
        "CurrentWeight": 1.0,
        "DesiredWeight": 1.0,
        "CurrentInstanceCount": count,
        "DesiredInstanceCount": count,
    }


def fleet(config: str, *instances: Any) -> Any:
    return SimpleNamespace(config=config, instances=lambda: list(instances))


def instance(number: int, *models: ModelStatus, state: str = "serving") -> Any:
    server = SimpleNamespace(
        id=f"i-{number}",
        triton=SimpleNamespace(cpu_seconds=lambda: 3.0, resident_bytes=lambda: 600),
        container=SimpleNamespace(disk_bytes=30, statuses=lambda: list(models)),
        capacity=Capacity(memory=1000, disk=40),
    )
    return SimpleNamespace(variant="only_variant", server=server, state=state, calls=3)


class Dashboard:
    """A dashboard with the endpoint `text`."""

    def __init__(self) -> None:
        description = {
            "EndpointName": "text",
            "EndpointStatus": "InService",
            "EndpointConfigName": "one",
            "ProductionVariants": [variant_description("only_variant")],
        }
        self.endpoint = Endpoint(description, plan("one", "only_variant"), threading.RLock())
        self.targets: list[RegisteredTarget] = []
        self.components: dict[str, Component] = {}
        self.events, self.traffic = Events(), Traffic()
        self.reader = StateReader(
            endpoints=lambda: [self.endpoint],
            components=self.components,
            targets=lambda: self.targets,
            cloudwatch=CloudWatch(),
            events=self.events,
            traffic=self.traffic,
            speed=60.0,
            max_processes=2,
            clock=lambda: 100.0,
        )

    def set_lookups(self, **results: Any) -> None:
        """Set the cached results, and prevent further reads."""
        for name in ("_alarms", "_usage"):
            lookup: Any = getattr(self.reader, name)
            lookup._due, lookup._latest = float("inf"), results.get(name[1:], lookup._latest)

    def only_variant(self) -> Any:
        (endpoint,) = self.reader.state()["endpoints"]
        (variant,) = endpoint["variants"]
        return variant


@pytest.fixture
def local() -> Dashboard:
    local = Dashboard()
    local.set_lookups()
    return local


def test_instance_has_its_models(local: Dashboard) -> None:
    stats = {"since": 90.0, "calls": 1, "answered": 7, "bytes": 5}
    loaded = ModelStatus(MINILM, Phase.LOADED, folder="f", **stats)  # type: ignore[arg-type]
    loading = ModelStatus("own.tar.gz", Phase.LOADING, folder="g", **stats)  # type: ignore[arg-type]
    local.endpoint.fleet = fleet("one", instance(1, loaded, loading))
    local.set_lookups(usage={"i-1": Usage(memory=600, cpu=12.5)})
    (record,) = local.only_variant()["instances"]
    first, second = record.pop("models")
    assert record == {
        "id": "i-1",
        "state": "serving",
        "calls": 3,
        "memory": 600,
        "memory_limit": 1000,
        "disk": 30,
        "disk_limit": 40,
        "cpu": 12.5,
    }
    common = {"since": 90.0, "calls": 1, "answered": 7, "disk": 5}
    assert first == {
        "target": MINILM, "name": "minilm", "state": "loaded", **common,
    }  # fmt: skip
    assert second == {
        "target": "own.tar.gz", "name": "own.tar.gz", "state": "loading", **common,
    }  # fmt: skip


def test_both_fleets_of_an_update_are_shown(local: Dashboard) -> None:
    ended = SimpleNamespace(variant="only_variant", server=None)
    local.endpoint.fleet = fleet("one", instance(1), ended)
    local.endpoint.attach_new_fleet(
        plan("two", "only_variant", "more"),
        fleet("two", instance(2, state="starting")),
        [variant_description("only_variant", 4), variant_description("more")],
        EndpointStatus="Updating",
    )
    (record,) = local.reader.state()["endpoints"]
    assert (record["status"], record["configuration"]) == ("Updating", "one")
    new, only = record["variants"]
    assert (new["name"], new["instances"], new["instance_type"]) == ("more", [], "ml.g5.xlarge")
    assert only["current_count"] == 2  # of the serving fleet
    assert [(row["id"], row["state"]) for row in only["instances"]] == [
        ("i-1", "serving"),
        ("i-2", "starting"),
    ]


def test_scaling_of_a_variant(local: Dashboard) -> None:
    assert local.only_variant()["scaling"] is None
    policy = {
        "PolicyName": "calls",
        "TargetTrackingScalingPolicyConfiguration": TRACKING,
        "Alarms": [{"AlarmName": "x-AlarmLow-1"}, {"AlarmName": "x-AlarmHigh-2"}],
    }
    record = {"MinCapacity": 1, "MaxCapacity": 6}
    local.targets = [RegisteredTarget(KEY, record, policies={"calls": policy})]
    alarms = [{"name": "x-AlarmHigh-2", "value": 75.0}, {"name": "x-AlarmLow-1", "value": 1.0}]
    local.set_lookups(alarms=alarms)
    policy_record = {"name": "calls", "metric": "SomeMetric", "target": 60.0, "value": 75.0}
    assert local.only_variant()["scaling"] == {"min": 1, "max": 6, "policies": [policy_record]}
    customized = {"TargetValue": 6.0, "CustomizedMetricSpecification": {"MetricName": "Own"}}
    local.targets[0].policies["calls"] = {
        **policy, "Alarms": [], "TargetTrackingScalingPolicyConfiguration": customized,
    }  # fmt: skip
    (policy_record,) = local.only_variant()["scaling"]["policies"]
    assert (policy_record["metric"], policy_record["value"]) == ("Own", None)


@pytest.mark.parametrize(("count", "max_processes"), [(2, None), (3, 2)])
def test_limit_of_processes_is_shown(
    local: Dashboard, count: int, max_processes: int | None
) -> None:
    local.endpoint.description["ProductionVariants"] = [variant_description("only_variant", count)]
    assert local.only_variant()["processes_at_most"] == max_processes


def test_only_new_events_and_rates_are_returned(local: Dashboard) -> None:
    now = [50.0]
    local.traffic._clock = lambda: now[0]
    for _ in range(3):
        local.traffic.add("text", "only_variant", 0.1, False)
        now[0] += 1
    local.endpoint.set_members(EndpointStatus="Updating")
    state = local.reader.state(after=10, since=52)
    assert state["events"] == []
    assert state["endpoints"][0]["variants"][0]["rates"]["first"] == 52


def test_usage_of_running_servers(local: Dashboard) -> None:
    ended = SimpleNamespace(variant="only_variant", server=None)
    local.endpoint.fleet = fleet("one", instance(7), ended)
    assert local.reader._read_usages() == {"i-7": Usage(600, None)}
    assert local.reader._read_usages() == {"i-7": Usage(600, 0.0)}


def test_components_and_their_copies_are_shown(
    local: Dashboard,
) -> None:
    config = {
        "EndpointConfigName": "empty",
        "ProductionVariants": [{"VariantName": "only_variant", "InstanceType": "ml.m5.xlarge"}],
    }
    local.endpoint.plan = local.endpoint.new_plan = HostingPlan(config, {})
    specification = {
        "ModelName": "m",
        "ComputeResourceRequirements": {"MinMemoryRequiredInMb": 128},
    }
    component = Component(
        {
            "InferenceComponentName": "times",
            "EndpointName": "text",
            "EndpointStatus": "Updating",
            "ProductionVariants": [variant_description("times", 3)],
        },
        component_plan("times", "ml.m5.xlarge", specification, {}),
        threading.RLock(),
        ignore_event,
    )
    component.fleet = SimpleNamespace(counts={"times": 1})  # type: ignore[assignment]
    local.components["times"] = component
    key = TargetKey(
        "sagemaker", "inference-component/times", "sagemaker:inference-component:DesiredCopyCount"
    )
    target = RegisteredTarget(key, {"MinCapacity": 0, "MaxCapacity": 4})
    target.policies["wake"] = {"PolicyName": "wake", "PolicyType": "StepScaling"}
    local.targets.append(target)
    copy = ModelStatus("times/1", Phase.LOADED, since=90.0, calls=2, answered=7, bytes=5, folder="")
    idle = instance(1, copy)
    idle.calls = 0
    local.endpoint.fleet = fleet("empty", idle)
    variant = local.only_variant()
    assert (variant["container_mode"], variant["processes_at_most"]) == (None, None)
    assert variant["components"] == [
        {
            "name": "times",
            "status": "Updating",
            "failure": None,
            "current_count": 1,
            "desired_count": 3,
            "scaling": {"min": 0, "max": 4, "policies": []},
        }
    ]
    (lane,) = variant["instances"]
    assert (lane["calls"], [model["name"] for model in lane["models"]]) == (2, ["times/1"])
