import re
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, cast
from unittest.mock import Mock

import pytest

from local_sagemaker.errors import ApiError, LocalSageMakerError
from local_sagemaker.hosting import fleet as fleet_module
from local_sagemaker.hosting import launch
from local_sagemaker.hosting.capacity import GIB, Capacity
from local_sagemaker.hosting.fleet import MANY_CALLS, Fleet
from local_sagemaker.hosting.instance import RunningServer
from local_sagemaker.hosting.launch import Host
from local_sagemaker.hosting.pools import Capacities, NoCapacityError
from local_sagemaker.tests.support.waiting import eventually


class FakeTriton:
    """A fake `Triton` that records its arguments and calls."""

    health_check_error: str | None = None
    started: ClassVar[list["FakeTriton"]]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.installation, self.options = arguments[0], options
        self.health_check_timeouts: list[float] = []
        self.stopped = 0
        self.ended = threading.Event()
        type(self).started.append(self)

    def wait_until_healthy(self, timeout: float) -> None:
        self.health_check_timeouts.append(timeout)
        if self.health_check_error:
            raise LocalSageMakerError(self.health_check_error)

    def wait(self, timeout: float) -> bool:
        """Wait until the process has ended: no ping is due before."""
        assert timeout > 0
        return self.ended.wait()

    def failed_ping(self, timeout: float) -> str:
        assert timeout > 0
        return "no answer"

    def stop(self) -> None:
        self.stopped += 1
        self.ended.set()


class FakeInstance:
    """A fake instance with loaded models; also its own server and container."""

    def __init__(self, variant: str, *models: str) -> None:
        self.variant, self.models = variant, models
        self.calls = self.max_calls = 0
        self.healthy_server: FakeInstance | None = self
        self.container = self

    def leave(self) -> None:
        """Do nothing; a real instance reports that it is leaving."""

    def has(self, target_model: str | None) -> bool:
        return target_model in self.models


@pytest.fixture
def triton(monkeypatch: pytest.MonkeyPatch) -> type[FakeTriton]:
    """The class that replaces `Triton`; `started` has its objects."""
    fake_class = type("StartedTriton", (FakeTriton,), {"started": []})
    monkeypatch.setattr(launch, "Triton", fake_class)
    return fake_class


ISOLATED: Any = SimpleNamespace(isolated=True, version=(2, 51))
NOT_ISOLATED: Any = SimpleNamespace(isolated=False, version=(2, 51))
"""Installations of Triton; an isolated one has its own mounts, with models below /opt/ml."""


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(
        triton=NOT_ISOLATED,
        backends=tmp_path / "backends",
        folder=tmp_path / "instances",
        s3="the client",  # type: ignore[arg-type]
        max_processes=2,
    )


def serving(*instances: FakeInstance) -> Fleet:
    """Return a fleet that serves from these instances."""
    fleet: Any = Fleet()
    for instance in instances:
        fleet._serving.setdefault(instance.variant, []).append(instance)
        fleet._instances.append(instance)
    return cast("Fleet", fleet)


def choose(fleet: Fleet, *, variant: str | None = None, **weights: float) -> Any:
    """Choose an instance for an invocation of the target model minilm."""
    return fleet.choose(
        weights or {"only": 1.0}, target_model="minilm.tar.gz", target_variant=variant
    )


def start_fleet(
    host: Host,
    endpoint: str,
    config: dict[str, Any],
    models: dict[str, Any],
    counts: dict[str, int] | None = None,
) -> Fleet:
    """Return a started fleet; the default is one instance per variant."""
    fleet = Fleet()
    fleet.start(host, endpoint, config, models, counts or one_instance_per_variant(config))
    return fleet


def one_instance_per_variant(config: dict[str, Any]) -> dict[str, int]:
    return {variant["VariantName"]: 1 for variant in config["ProductionVariants"]}


def running_server(fleet: Fleet) -> RunningServer:
    (instance,) = fleet._instances
    assert instance.healthy_server
    return instance.healthy_server


def model(**container: Any) -> dict[str, Any]:
    fields = {"Mode": "MultiModel", "ModelDataUrl": "s3://models/text/", **container}
    return {"PrimaryContainer": fields}


def config(*variants: dict[str, Any]) -> dict[str, Any]:
    return {
        "EndpointConfigName": "one",
        "ProductionVariants": [
            {"VariantName": f"v{number}", "ModelName": "m", "InstanceType": "ml.m5.xlarge", **keys}
            for number, keys in enumerate(variants, 1)
        ],
    }


# Choice of the instance


def test_weights_distribute_invocations() -> None:
    fleet = serving(*(FakeInstance(name) for name in ("a", "none", "b")))
    names = [choose(fleet, a=1.0, b=3.0, none=0.0).variant for _ in range(400)]
    assert "none" not in names
    assert 40 < names.count("a") < 160  # 100 expected; 60 off is seven standard deviations


def test_target_variant_is_chosen_despite_weight_0() -> None:
    fleet = serving(FakeInstance("a"), FakeInstance("b"))
    assert choose(fleet, variant="b", a=1.0, b=0.0).variant == "b"


@pytest.mark.parametrize(
    ("name", "weight", "message"),
    [
        ("c", 1.0, "Variant c not found; the endpoint has a, b."),
        ("", 1.0, "Variant  not found; the endpoint has a, b."),
        (None, 0.0, "Every variant has weight 0: name one as TargetVariant or give one a weight."),
    ],
)
def test_invocation_without_a_variant_is_refused(
    name: str | None, weight: float, message: str
) -> None:
    fleet = serving(FakeInstance("a"), FakeInstance("b"))
    with pytest.raises(ApiError) as refused:
        choose(fleet, variant=name, a=weight, b=weight)
    assert (refused.value.code, refused.value.message) == ("ValidationError", message)


def test_least_busy_instance_is_chosen() -> None:
    instances = [FakeInstance("only") for _ in range(3)]
    fleet = serving(*instances)
    chosen = [choose(fleet) for _ in range(6)]
    assert chosen == instances * 2
    chosen[1].calls -= 1
    assert choose(fleet) is instances[1]


def test_maximum_of_concurrent_calls_is_recorded() -> None:
    instance = FakeInstance("only")
    fleet = serving(instance)
    for call in [choose(fleet) for _ in range(3)]:
        call.calls -= 1
    choose(fleet).calls -= 1
    assert (instance.calls, instance.max_calls) == (0, 3)


def test_instance_with_the_model_is_preferred() -> None:
    without_model, with_model = FakeInstance("only"), FakeInstance("only", "minilm.tar.gz")
    fleet = serving(without_model, with_model)
    assert [choose(fleet) for _ in range(MANY_CALLS)] == [with_model] * MANY_CALLS
    assert choose(fleet) is without_model  # under load, the model is loaded on another instance
    with_model.calls -= 1
    assert choose(fleet) is with_model


# Start and stop


def test_volume_size_and_model_cache_setting_reach_the_container(
    triton: type[FakeTriton], host: Host
) -> None:
    small = {"InstanceType": "ml.c5.large", "VolumeSizeInGB": 5}
    uncached = model(MultiModelConfig={"ModelCacheSetting": "Disabled"})
    container: Any = running_server(
        start_fleet(host, "text", config(small), {"m": uncached})
    ).container
    assert container._memory == Capacity.for_variant(small).memory
    assert container._store.limit == 5 * GIB
    assert not container._caches
    container = running_server(start_fleet(host, "text", config({}), {"m": model()})).container
    assert container._caches


def test_health_check_timeout_of_the_variant_is_used(triton: type[FakeTriton], host: Host) -> None:
    slow_start = {"ContainerStartupHealthCheckTimeoutInSeconds": 120}
    start_fleet(host, "text", config(slow_start, {}), {"m": model()})
    assert [server.health_check_timeouts for server in triton.started] == [[120], [600]]


def test_download_timeout_of_the_variant_is_used(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetch = Mock(side_effect=ApiError("ValidationError", "no archive"))
    monkeypatch.setattr("local_sagemaker.hosting.archives.fetch", fetch)
    single = model(Mode="SingleModel", ModelDataUrl="s3://models/text/a.tar.gz")
    with pytest.raises(LocalSageMakerError, match="no archive"):
        start_fleet(host, "text", config({"ModelDataDownloadTimeoutInSeconds": 120}), {"m": single})
    assert fetch.call_args.kwargs["seconds"] == 120


def test_stop_deletes_models_and_keeps_logs(triton: type[FakeTriton], host: Host) -> None:
    fleet = start_fleet(host, "text", config({}), {"m": model()})
    folder = triton.started[0].options["folder"]
    (folder / "models" / "a").mkdir(parents=True)
    (folder / "triton.log").write_text("a log line")
    fleet.stop()
    assert triton.started[0].stopped == 1
    assert not (folder / "models").exists()
    assert (folder / "triton.log").read_text() == "a log line"


def test_stop_during_start_stops_started_servers(
    triton: type[FakeTriton], host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Fleet()
    start = triton.__init__

    def start_and_stop_fleet(*arguments: Any, **options: Any) -> None:
        start(*arguments, **options)
        fleet.stop()

    monkeypatch.setattr(triton, "__init__", start_and_stop_fleet)
    with pytest.raises(LocalSageMakerError, match="the instances were stopped while they started"):
        fleet.start(host, "text", config({}, {}), {"m": model()}, {"v1": 1, "v2": 1})
    fleet.stop()
    assert [server.stopped for server in triton.started] == [1]


def test_stop_during_the_health_check_fails_the_start(
    triton: type[FakeTriton], host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Fleet()
    monkeypatch.setattr(triton, "wait_until_healthy", lambda *_: fleet.stop())
    with pytest.raises(LocalSageMakerError, match="the instances were stopped while they started"):
        fleet.start(host, "text", config({}), {"m": model()}, {"v1": 1})
    assert triton.started[0].stopped


# Instance pools


def pooled_config() -> dict[str, Any]:
    pools = [
        {"InstanceType": "ml.g6.xlarge", "Priority": 1},
        {"InstanceType": "ml.g5.xlarge", "Priority": 2, "ModelNameOverride": "other"},
    ]
    pooled = config({"InstancePools": pools})
    del pooled["ProductionVariants"][0]["InstanceType"]
    return pooled


def test_scaling_respects_the_priority_of_pools(triton: type[FakeTriton], host: Host) -> None:
    host = replace(host, max_processes=3, capacities=Capacities({"ml.g6.xlarge": 1}))
    models = {"m": model(), "other": model(ModelDataUrl="s3://models/other/")}
    fleet = start_fleet(host, "text", pooled_config(), models)
    fleet.scale({"v1": 2})
    assert instance_types(fleet) == ["ml.g6.xlarge", "ml.g5.xlarge"]
    assert [server.options["models"] for server in triton.started]
    fleet.scale({"v1": 1})
    assert instance_types(fleet) == ["ml.g6.xlarge"]
    assert triton.started[1].stopped
    fleet.stop()
    # The stopped instance has freed its capacity.
    host.capacities.take(pooled_config()["ProductionVariants"][0])


def test_failed_start_frees_its_capacity(triton: type[FakeTriton], host: Host) -> None:
    host = replace(host, capacities=Capacities({"ml.g6.xlarge": 1, "ml.g5.xlarge": 0}))
    with pytest.raises(NoCapacityError):
        start_fleet(host, "text", pooled_config(), {"m": model(), "other": model()}, {"v1": 2})
    assert triton.started == []
    assert (
        host.capacities.take(pooled_config()["ProductionVariants"][0]).instance_type
        == "ml.g6.xlarge"
    )


def instance_types(fleet: Fleet) -> list[str]:
    return fleet.instance_types("v1")


def test_instances_without_a_process_take_capacity(triton: type[FakeTriton], host: Host) -> None:
    g6, g5 = "ml.g6.xlarge", "ml.g5.xlarge"
    host = replace(host, max_processes=1, capacities=Capacities({g6: 1, g5: 2}))
    models = {"m": model(), "other": model(ModelDataUrl="s3://models/other/")}
    fleet = start_fleet(host, "text", pooled_config(), models)
    with pytest.raises(NoCapacityError):
        fleet.scale({"v1": 4})
    assert (fleet.counts, instance_types(fleet)) == ({"v1": 1}, [g6])
    fleet.scale({"v1": 3})
    assert instance_types(fleet) == [g6, g5, g5]
    assert len(triton.started) == 1
    fleet.scale({"v1": 2})
    assert instance_types(fleet) == [g6, g5]
    fleet.stop()
    (variant,) = pooled_config()["ProductionVariants"]
    freed = [host.capacities.take(variant).instance_type for _ in range(3)]
    assert freed == [g6, g5, g5]


# Counts


def process_counts(fleet: Fleet) -> dict[str, int]:
    return {name: len(instances) for name, instances in fleet.serving().items()}


def test_instance_count_includes_instances_without_a_process(
    triton: type[FakeTriton], host: Host, caplog: pytest.LogCaptureFixture
) -> None:
    fleet = start_fleet(host, "text", config({}, {}), {"m": model()}, {"v1": 5, "v2": 1})
    assert (fleet.config, fleet.counts) == ("one", {"v1": 5, "v2": 1})
    assert process_counts(fleet) == {"v1": 2, "v2": 1}
    assert "2 processes stand for the 5 instances of variant v1" in caplog.text
    fleet.scale({"v1": 1, "v2": 1})
    assert fleet.counts == {"v1": 1, "v2": 1}


def test_logs_and_model_events_are_reported(triton: type[FakeTriton], host: Host) -> None:
    followed_logs: list[Any] = []
    steps: list[Any] = []
    reporting_host = replace(
        host,
        follow_log=lambda *arguments: followed_logs.append(arguments),
        report_model_step=lambda *arguments: steps.append(arguments),
    )
    fleet = start_fleet(reporting_host, "text", config({}), {"m": model()})
    server = running_server(fleet)
    assert re.fullmatch("i-[0-9a-f]{17}", server.id)
    assert followed_logs == [("/aws/sagemaker/Endpoints/text", f"v1/{server.id}", server.triton)]
    container: Any = server.container
    container._report("loaded")
    assert steps == [("text", "v1", server.id, "loaded")]


def test_instance_serves_after_its_health_check(
    triton: type[FakeTriton], host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = start_fleet(host, "text", config({}), {"m": model()})
    counts_during_check: list[int] = []
    monkeypatch.setattr(
        triton,
        "wait_until_healthy",
        lambda *_: counts_during_check.append(process_counts(fleet)["v1"]),
    )
    fleet.scale({"v1": 2})
    assert (counts_during_check, process_counts(fleet)) == ([1], {"v1": 2})
    fleet.scale({"v1": 2})
    assert len(triton.started) == 2


def test_only_the_latest_logs_of_ended_servers_are_kept(
    triton: type[FakeTriton], host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "MAX_LOGS", 2)
    fleet = start_fleet(host, "text", config({}), {"m": model()})
    for _ in range(4):
        fleet.scale({"v1": 2})
        fleet.scale({"v1": 1})
    serving, *ended = [server.options["folder"] for server in triton.started]
    fleet.scale({"v1": 2})
    expected = {serving, *ended[-2:], triton.started[-1].options["folder"]}
    assert set(host.folder.iterdir()) == expected


def test_failed_scaling_out_keeps_serving_instances(triton: type[FakeTriton], host: Host) -> None:
    fleet = start_fleet(host, "text", config({}, {}), {"m": model()})
    triton.health_check_error = "The container did not pass the ping health check."
    with pytest.raises(LocalSageMakerError, match="did not pass the ping health check"):
        fleet.scale({"v1": 2, "v2": 2})
    assert process_counts(fleet) == {"v1": 1, "v2": 1}
    assert [server.stopped for server in triton.started] == [0, 0, 1, 1]
    triton.health_check_error = None
    fleet.scale({"v1": 2, "v2": 1})
    assert process_counts(fleet) == {"v1": 2, "v2": 1}


def test_leaving_instance_finishes_its_calls(triton: type[FakeTriton], host: Host) -> None:
    fleet = start_fleet(host, "text", config({}), {"m": model()}, {"v1": 2})
    first, second = fleet._serving["v1"]
    calls = [choose(fleet, v1=1.0) for _ in range(2)]
    assert calls == [first, second]
    scaling = threading.Thread(target=fleet.scale, args=({"v1": 1},), daemon=True)
    scaling.start()
    eventually(lambda: len(fleet.serving()["v1"]) == 1)
    assert [choose(fleet, v1=1.0) for _ in range(2)] == [first, first]
    assert not triton.started[1].stopped
    second.calls -= 1
    scaling.join()
    assert [server.stopped for server in triton.started] == [0, 1]
    fleet.stop()
    assert [server.stopped for server in triton.started] == [1, 1]


def test_leaving_instance_stops_after_the_drain_timeout(
    triton: type[FakeTriton], host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_module, "DRAIN_SECONDS", 0.01)
    fleet = start_fleet(host, "text", config({}), {"m": model()}, {"v1": 2})
    for _ in range(2):
        choose(fleet, v1=1.0)
    fleet.scale({"v1": 1})
    assert [server.stopped for server in triton.started] == [0, 1]
