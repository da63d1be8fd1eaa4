import dataclasses
import re
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from local_sagemaker.errors import ApiError, LocalSageMakerError
from local_sagemaker.hosting import fleet as fleet_module
from local_sagemaker.hosting import launch
from local_sagemaker.hosting.capacity import GIB, Capacity
from local_sagemaker.hosting.fleet import MANY_CALLS, Fleet
from local_sagemaker.hosting.instance import RunningServer
from local_sagemaker.hosting.launch import Host
from local_sagemaker.hosting.multi_model_container import MultiModelContainer
from local_sagemaker.hosting.pools import Capacities, NoCapacityError
from local_sagemaker.hosting.single_model_container import SingleModelContainer
from local_sagemaker.tests.hosting.conftest import tar_gz
from local_sagemaker.tests.support.waiting import TIMEOUT_SECONDS, eventually


class FakeTriton:
    """A server that is healthy, or not, and keeps how it was started and asked."""

    unhealthy: str | None = None
    made: list["FakeTriton"]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.installation, self.options = arguments[0], options
        self.waited: list[float] = []
        self.stopped = 0
        self.ended, self.pinged = threading.Event(), threading.Event()
        type(self).made.append(self)

    def wait_until_healthy(self, timeout: float) -> None:
        self.waited.append(timeout)
        if self.unhealthy:
            raise LocalSageMakerError(self.unhealthy)

    def wait(self, timeout: float) -> bool:
        assert timeout > 0
        self.pinged.wait()
        return self.ended.is_set()

    def failed_ping(self, timeout: float) -> str:
        assert timeout > 0
        return "no answer"

    def stop(self) -> None:
        self.stopped += 1
        self.end()

    def end(self) -> None:
        self.ended.set()
        self.pinged.set()


class FakeInstance:
    """Has models; stands for its server and its container."""

    def __init__(self, variant: str, *models: str) -> None:
        self.variant, self.models = variant, models
        self.calls = self.most_calls = 0
        self.running: FakeInstance | None = self
        self.container = self

    def leave(self) -> None:
        """It may answer what it has."""

    def has(self, target_model: str | None) -> bool:
        return target_model in self.models


@pytest.fixture
def triton(monkeypatch: pytest.MonkeyPatch) -> type[FakeTriton]:
    """What is started instead of Triton."""
    made = type("Started", (FakeTriton,), {"made": []})
    monkeypatch.setattr(launch, "Triton", made)
    return made


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(
        triton=NOT_ISOLATED,
        backends=tmp_path / "backends",
        folder=tmp_path / "instances",
        s3="the client",  # type: ignore[arg-type]
        instances=2,
    )


def serving(*instances: FakeInstance) -> Fleet:
    """Return a fleet of these instances."""
    fleet: Any = Fleet()
    for instance in instances:
        fleet._serving.setdefault(instance.variant, []).append(instance)
        fleet._all.append(instance)
    return cast("Fleet", fleet)


def begin(fleet: Fleet, *, variant: str | None = None, **weights: float) -> Any:
    """Choose the instance of an invocation of minilm."""
    return fleet.choose(
        weights or {"only": 1.0}, target_model="minilm.tar.gz", target_variant=variant
    )


def started(
    host: Host,
    endpoint: str,
    config: dict[str, Any],
    models: dict[str, Any],
    counts: dict[str, int] | None = None,
) -> Fleet:
    """Return a fleet that has started, with one instance a variant unless told otherwise."""
    fleet = Fleet()
    fleet.start(host, endpoint, config, models, counts or one_each(config))
    return fleet


def one_each(config: dict[str, Any]) -> dict[str, int]:
    return {variant["VariantName"]: 1 for variant in config["ProductionVariants"]}


def running(fleet: Fleet) -> RunningServer:
    (instance,) = fleet._all
    assert instance.running
    return instance.running


ISOLATED: Any = SimpleNamespace(isolated=True)
NOT_ISOLATED: Any = SimpleNamespace(isolated=False)


def model(**container: Any) -> dict[str, Any]:
    fields = {"Mode": "MultiModel", "ModelDataUrl": "s3://models/text/", **container}
    return {"PrimaryContainer": fields}


def config(*variants: dict[str, Any]) -> dict[str, Any]:
    return {
        "EndpointConfigName": "one",
        "ProductionVariants": [
            {"VariantName": f"v{number}", "ModelName": "m", "InstanceType": "ml.m5.xlarge", **each}
            for number, each in enumerate(variants, 1)
        ],
    }


# Which instance answers


def test_an_invocation_is_answered_by_the_one_variant_whatever_its_weight() -> None:
    only = FakeInstance("only")
    assert begin(serving(only), only=0.0) is only


def test_weights_share_the_invocations_out() -> None:
    fleet = serving(*(FakeInstance(each) for each in ("a", "none", "b")))
    names = [begin(fleet, a=1.0, b=3.0, none=0.0).variant for _ in range(400)]
    assert "none" not in names
    assert 40 < names.count("a") < 160  # 100 expected; 60 off is seven standard deviations


def test_a_variant_that_is_asked_for_answers_whatever_its_weight() -> None:
    fleet = serving(FakeInstance("a"), FakeInstance("b"))
    assert begin(fleet, variant="b", a=1.0, b=0.0).variant == "b"


@pytest.mark.parametrize("name", ["c", ""])
def test_an_unknown_variant_is_refused_with_those_there_are(name: str) -> None:
    fleet = serving(FakeInstance("a"), FakeInstance("b"))
    with pytest.raises(ApiError) as refused:
        begin(fleet, variant=name, a=1.0, b=1.0)
    assert refused.value.code == "ValidationError"
    assert refused.value.message == f"Variant {name} not found; the endpoint has a, b."


def test_without_any_weight_no_variant_is_chosen() -> None:
    fleet = serving(FakeInstance("a"), FakeInstance("b"))
    with pytest.raises(ApiError) as refused:
        begin(fleet, a=0.0, b=0.0)
    assert refused.value.code == "ValidationError"
    assert refused.value.message == (
        "Every variant has weight 0: name one as TargetVariant or give one a weight."
    )


def test_the_least_busy_instance_answers() -> None:
    instances = [FakeInstance("only") for _ in range(3)]
    fleet = serving(*instances)
    chosen = [begin(fleet) for _ in range(6)]
    assert chosen == instances * 2
    fleet.release(chosen[1])
    assert begin(fleet) is instances[1]


def test_the_most_calls_at_once_are_kept_when_they_are_answered() -> None:
    instance = FakeInstance("only")
    fleet = serving(instance)
    for call in [begin(fleet) for _ in range(3)]:
        fleet.release(call)
    fleet.release(begin(fleet))
    assert (instance.calls, instance.most_calls) == (0, 3)


def test_an_instance_that_has_the_model_answers_though_it_is_busier() -> None:
    without, having = FakeInstance("only"), FakeInstance("only", "minilm.tar.gz")
    fleet = serving(without, having)
    assert [begin(fleet) for _ in range(MANY_CALLS)] == [having] * MANY_CALLS
    assert begin(fleet) is without  # some go to another one if there are many
    fleet.release(having)  # type: ignore[arg-type]
    assert begin(fleet) is having


def test_a_healthy_instance_answers_while_there_is_one() -> None:
    sick, well = FakeInstance("only", "minilm.tar.gz"), FakeInstance("only")
    sick.running = None
    fleet = serving(sick, well)
    assert [begin(fleet) for _ in range(3)] == [well] * 3
    well.running = None
    assert begin(fleet) is sick  # it may be well again soon


# Draining


def draining(fleet: Fleet) -> threading.Thread:
    thread = threading.Thread(target=fleet.drain, args=(TIMEOUT_SECONDS,), daemon=True)
    thread.start()
    return thread


def test_draining_waits_for_the_invocations_under_way() -> None:
    fleet = serving(FakeInstance("only"), FakeInstance("only"))
    calls = [begin(fleet) for _ in range(3)]
    thread = draining(fleet)
    for call in calls:
        assert thread.is_alive()
        fleet.release(call)
    thread.join()


def test_draining_gives_up_after_its_time() -> None:
    fleet = serving(FakeInstance("only"))
    call = begin(fleet)
    fleet.drain(0.01)
    assert call.calls == 1


# Start and stop


def test_every_variant_gets_a_server_in_a_folder_of_its_own(
    triton: type[FakeTriton], host: Host
) -> None:
    environment = {"SAGEMAKER_TRITON_THREAD_COUNT": "4", "OMP_NUM_THREADS": "1"}
    fleet = started(host, "text", config({}, {}), {"m": model(Environment=environment)})
    assert [each.variant for each in fleet._all] == ["v1", "v2"]
    folders = [made.options["folder"] for made in triton.made]
    assert len(set(folders)) == 2
    for made, name in zip(triton.made, ("v1", "v2"), strict=True):
        folder = made.options["folder"]
        assert folder.parent == host.folder
        assert folder.name.startswith(f"text-{name}-")
        assert made.installation is NOT_ISOLATED
        assert made.options["backends"] == host.backends
        assert made.options["environment"] == {"SAGEMAKER_MULTI_MODEL": "true", **environment}
        assert f"--model-repository={folder / 'empty'}" in made.options["arguments"]
        assert "--sagemaker-thread-count=4" in made.options["arguments"]
        assert list((folder / "empty").iterdir()) == []
        assert made.options["models"] == (folder / "models", folder / "models")
        assert made.options["notes"][0].startswith("Triton is running in SageMaker MME mode.")


def test_a_server_in_namespaces_sees_its_models_where_sagemaker_has_them(
    triton: type[FakeTriton], host: Host, s3: Any
) -> None:
    s3.objects["models", "search/minilm.tar.gz"] = tar_gz({"minilm/config.pbtxt": b"ensemble"})
    single = {"PrimaryContainer": {"ModelDataUrl": "s3://models/search/minilm.tar.gz"}}
    isolated = dataclasses.replace(host, triton=ISOLATED, s3=s3)
    fleet = started(isolated, "text", config({}), {"m": model()})
    many, one = running(fleet), running(started(isolated, "search", config({}), {"m": single}))
    first, second = triton.made
    assert first.options["models"] == (many.folder / "models", Path("/opt/ml/models"))
    assert isinstance(many.container, MultiModelContainer)
    assert many.container._seen_at == Path("/opt/ml/models")
    assert second.options["models"] == (one.folder / "model", Path("/opt/ml/model"))
    assert "--model-repository=/opt/ml/model" in second.options["arguments"]
    assert (many.folder / "models").is_dir()


def test_the_images_release_decides_what_serve_knows(triton: type[FakeTriton], host: Host) -> None:
    environment = {"SAGEMAKER_TRITON_INFERENCE_TYPE": "chat"}
    image = "triton.dkr.ecr.amazonaws.com/sagemaker-tritonserver:24.09-py3"
    started(host, "text", config({}), {"m": model(Image=image, Environment=environment)})
    with pytest.raises(LocalSageMakerError, match="Invalid SAGEMAKER_TRITON_INFERENCE_TYPE 'chat'"):
        started(host, "text", config({}), {"m": model(Environment=environment)})


def test_a_variants_container_reads_from_its_models_prefix(
    triton: type[FakeTriton], host: Host
) -> None:
    fleet = started(host, "text", config({}), {"m": model()})
    container = running(fleet).container
    assert isinstance(container, MultiModelContainer)
    store = container._store
    assert (store._prefix.bucket, store._prefix.key) == ("models", "text/")
    assert store._folder == triton.made[0].options["folder"] / "models"


def test_a_variants_volume_and_its_models_cache_setting_are_its_containers(
    triton: type[FakeTriton], host: Host
) -> None:
    small = {"InstanceType": "ml.c5.large", "VolumeSizeInGB": 5}
    uncached = model(MultiModelConfig={"ModelCacheSetting": "Disabled"})
    container: Any = running(started(host, "text", config(small), {"m": uncached})).container
    assert container._memory == Capacity.of(small).memory
    assert container._store.limit == 5 * GIB
    assert not container._caches
    container = running(started(host, "text", config({}), {"m": model()})).container
    assert container._caches


def test_a_model_may_name_its_container_in_a_list(triton: type[FakeTriton], host: Host) -> None:
    listed = {"Containers": [model()["PrimaryContainer"]]}
    started(host, "text", config({}), {"m": listed})
    assert len(triton.made) == 1


def test_instances_have_as_long_to_become_healthy_as_the_variant_says(
    triton: type[FakeTriton], host: Host
) -> None:
    patient = {"ContainerStartupHealthCheckTimeoutInSeconds": 120}
    started(host, "text", config(patient, {}), {"m": model()})
    assert [made.waited for made in triton.made] == [[120], [600]]


@pytest.mark.parametrize("mode", [{"Mode": "SingleModel"}, {}])
def test_a_single_models_archive_is_unpacked_and_its_model_loaded(
    triton: type[FakeTriton], host: Host, s3: Any, mode: dict[str, str]
) -> None:
    s3.objects["models", "search/minilm.tar.gz"] = tar_gz({"minilm/config.pbtxt": b"ensemble"})
    single = {**mode, "ModelDataUrl": "s3://models/search/minilm.tar.gz"}
    fleet = started(
        dataclasses.replace(host, s3=s3), "search", config({}), {"m": {"PrimaryContainer": single}}
    )
    assert isinstance(running(fleet).container, SingleModelContainer)
    (made,) = triton.made
    folder = made.options["folder"]
    assert (folder / "model" / "minilm" / "config.pbtxt").read_bytes() == b"ensemble"
    assert f"--model-repository={folder / 'model'}" in made.options["arguments"]
    assert "--load-model=minilm" in made.options["arguments"]
    assert made.options["environment"] == {"SAGEMAKER_TRITON_DEFAULT_MODEL_NAME": "minilm"}
    fleet.stop()
    assert not (folder / "model").exists()


def test_a_single_models_server_that_dies_is_replaced_with_its_model(
    triton: type[FakeTriton], host: Host, s3: Any
) -> None:
    s3.objects["models", "search/minilm.tar.gz"] = tar_gz({"minilm/config.pbtxt": b"ensemble"})
    single = {"PrimaryContainer": {"ModelDataUrl": "s3://models/search/minilm.tar.gz"}}
    fleet = started(dataclasses.replace(host, s3=s3), "search", config({}), {"m": single})
    triton.made[0].end()
    eventually(lambda: len(triton.made) == 2 and triton.made[1].waited)
    folder = triton.made[1].options["folder"]
    assert folder != triton.made[0].options["folder"]
    assert (folder / "model" / "minilm" / "config.pbtxt").exists()
    assert "--load-model=minilm" in triton.made[1].options["arguments"]
    fleet.stop()
    assert [made.stopped for made in triton.made] == [1, 1]


def test_a_single_model_without_its_archive_does_not_start(
    triton: type[FakeTriton], host: Host, s3: Any
) -> None:
    single = {"PrimaryContainer": {"ModelDataUrl": "s3://models/search/none.tar.gz"}}
    models = {"multi": model(), "single": single}
    variants = ({"ModelName": "multi"}, {"ModelName": "single"})
    fleet = Fleet()
    with pytest.raises(LocalSageMakerError, match=r"\(bucket: models, key: search/none\.tar\.gz\)"):
        fleet.start(
            dataclasses.replace(host, s3=s3),
            "search",
            config(*variants),
            models,
            one_each(config(*variants)),
        )
    fleet.stop()
    assert [made.stopped for made in triton.made] == [1]


def test_one_unhealthy_variant_fails_the_start_and_stop_ends_them_all(
    triton: type[FakeTriton], host: Host
) -> None:
    triton.unhealthy = "The container did not pass the ping health check."
    fleet = Fleet()
    with pytest.raises(
        LocalSageMakerError, match=r"^The container did not pass the ping health check"
    ):
        fleet.start(host, "text", config({}, {}), {"m": model()}, {"v1": 1, "v2": 1})
    fleet.stop()
    assert [made.stopped for made in triton.made] == [1, 1]


def test_stop_ends_the_servers_and_deletes_models_but_keeps_logs(
    triton: type[FakeTriton], host: Host
) -> None:
    fleet = started(host, "text", config({}), {"m": model()})
    folder = triton.made[0].options["folder"]
    (folder / "models" / "a").mkdir(parents=True)
    (folder / "triton.log").write_text("what happened")
    fleet.stop()
    assert triton.made[0].stopped == 1
    assert not (folder / "models").exists()
    assert (folder / "triton.log").read_text() == "what happened"


def test_a_model_without_a_url_starts_nothing(triton: type[FakeTriton], host: Host) -> None:
    nowhere = {"PrimaryContainer": {"Mode": "MultiModel"}}
    with pytest.raises(KeyError, match="ModelDataUrl"):
        started(host, "text", config({}), {"m": nowhere})
    assert triton.made == []


def test_a_fleet_that_is_stopped_while_it_starts_ends_what_it_has_and_starts_no_more(
    triton: type[FakeTriton], host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Fleet()
    start = triton.__init__

    def stopped_meanwhile(*arguments: Any, **options: Any) -> None:
        start(*arguments, **options)
        fleet.stop()

    monkeypatch.setattr(triton, "__init__", stopped_meanwhile)
    with pytest.raises(LocalSageMakerError, match="the instances were stopped while they started"):
        fleet.start(host, "text", config({}, {}), {"m": model()}, {"v1": 1, "v2": 1})
    fleet.stop()
    assert [made.stopped for made in triton.made] == [1]


def test_a_fleet_that_is_stopped_at_the_last_moment_has_not_started(
    triton: type[FakeTriton], host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Fleet()
    monkeypatch.setattr(triton, "wait_until_healthy", lambda *_: fleet.stop())
    with pytest.raises(LocalSageMakerError, match="the instances were stopped while they started"):
        fleet.start(host, "text", config({}), {"m": model()}, {"v1": 1})
    assert triton.made[0].stopped


# Instance pools


def pooled() -> dict[str, Any]:
    pools = [
        {"InstanceType": "ml.g6.xlarge", "Priority": 1},
        {"InstanceType": "ml.g5.xlarge", "Priority": 2, "ModelNameOverride": "other"},
    ]
    described = config({"InstancePools": pools})
    del described["ProductionVariants"][0]["InstanceType"]
    return described


def test_scaling_out_falls_back_and_scaling_in_ends_the_less_preferred_type(
    triton: type[FakeTriton], host: Host
) -> None:
    host = replace(host, instances=3, capacities=Capacities({"ml.g6.xlarge": 1}))
    models = {"m": model(), "other": model(ModelDataUrl="s3://models/other/")}
    fleet = started(host, "text", pooled(), models)
    fleet.scale({"v1": 2})
    assert types(fleet) == ["ml.g6.xlarge", "ml.g5.xlarge"]
    assert [made.options["models"] for made in triton.made]
    fleet.scale({"v1": 1})
    assert types(fleet) == ["ml.g6.xlarge"]
    assert triton.made[1].stopped
    fleet.stop()
    host.capacities.take(pooled()["ProductionVariants"][0])  # what was stopped is free again


def test_a_start_without_capacity_starts_nothing_and_keeps_none(
    triton: type[FakeTriton], host: Host
) -> None:
    host = replace(host, capacities=Capacities({"ml.g6.xlarge": 1, "ml.g5.xlarge": 0}))
    with pytest.raises(NoCapacityError):
        started(host, "text", pooled(), {"m": model(), "other": model()}, {"v1": 2})
    assert triton.made == []
    assert host.capacities.take(pooled()["ProductionVariants"][0]).instance_type == "ml.g6.xlarge"


def types(fleet: Fleet) -> list[str]:
    return [each.pool.instance_type for each in fleet.serving()["v1"] if each.pool]


# Counts


def count(fleet: Fleet) -> dict[str, int]:
    return {name: len(instances) for name, instances in fleet._serving.items()}


def test_a_variant_has_as_many_servers_as_it_has_instances(
    triton: type[FakeTriton], host: Host
) -> None:
    fleet = started(host, "text", config({}, {}), {"m": model()}, {"v1": 2, "v2": 1})
    assert count(fleet) == {"v1": 2, "v2": 1}
    assert len({made.options["folder"] for made in triton.made}) == 3


def test_processes_stand_for_more_instances_than_a_laptop_bears(
    triton: type[FakeTriton], host: Host, caplog: pytest.LogCaptureFixture
) -> None:
    fleet = started(host, "text", config({}), {"m": model()}, {"v1": 5})
    assert (count(fleet), len(triton.made)) == ({"v1": 2}, 2)
    assert "2 processes stand for the 5 instances of variant v1" in caplog.text


def test_a_fleet_knows_how_many_instances_there_are_whatever_has_a_process(
    triton: type[FakeTriton], host: Host
) -> None:
    fleet = started(host, "text", config({}, {}), {"m": model()}, {"v1": 5, "v2": 1})
    assert (fleet.config, fleet.counts) == ("one", {"v1": 5, "v2": 1})
    assert {name: len(each) for name, each in fleet.serving().items()} == {"v1": 2, "v2": 1}
    fleet.scale({"v1": 1, "v2": 1})
    assert fleet.counts == {"v1": 1, "v2": 1}
    assert Fleet().serving() == {}


def test_what_a_server_writes_is_followed_and_what_happens_to_its_models_told(
    triton: type[FakeTriton], host: Host
) -> None:
    followed: list[Any] = []
    messages: list[Any] = []
    observed = replace(
        host,
        follow=lambda *each: followed.append(each),
        report=lambda *each: messages.append(each),
    )
    fleet = started(observed, "text", config({}), {"m": model()})
    made = running(fleet)
    assert re.fullmatch("i-[0-9a-f]{17}", made.id)
    assert followed == [("/aws/sagemaker/Endpoints/text", f"v1/{made.id}", made.triton)]
    container: Any = made.container
    container._report("loaded")
    assert messages == [("text", "v1", made.id, "loaded")]


def test_a_variant_that_is_scaled_up_serves_from_all_its_instances(
    triton: type[FakeTriton], host: Host
) -> None:
    fleet = started(host, "text", config({}, {}), {"m": model()})
    fleet.scale({"v1": 2})
    assert (count(fleet), len(triton.made)) == ({"v1": 2, "v2": 1}, 3)
    assert triton.made[2].options["folder"].name.startswith("text-v1-")
    fleet.scale({"v1": 2})
    assert len(triton.made) == 3


def test_an_instance_serves_once_it_is_healthy(
    triton: type[FakeTriton], host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = started(host, "text", config({}), {"m": model()})
    counted: list[int] = []
    monkeypatch.setattr(triton, "wait_until_healthy", lambda *_: counted.append(count(fleet)["v1"]))
    fleet.scale({"v1": 2})
    assert (counted, count(fleet)) == ([1], {"v1": 2})


def test_of_servers_that_have_ended_the_latest_logs_stay(
    triton: type[FakeTriton], host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launch, "KEPT_LOGS", 2)
    fleet = started(host, "text", config({}), {"m": model()})
    for _ in range(4):
        fleet.scale({"v1": 2})
        fleet.scale({"v1": 1})
    serving, *ended = [each.options["folder"] for each in triton.made]
    fleet.scale({"v1": 2})
    kept = [serving, *ended[-2:], triton.made[-1].options["folder"]]
    assert set(host.folder.iterdir()) == set(kept)


def test_what_did_not_start_or_has_ended_is_not_remembered(
    triton: type[FakeTriton], host: Host
) -> None:
    fleet = started(host, "text", config({}), {"m": model()})
    fleet.scale({"v1": 2})
    fleet.scale({"v1": 1})
    triton.unhealthy = "The container did not pass the ping health check."
    with pytest.raises(LocalSageMakerError):
        fleet.scale({"v1": 2})
    assert fleet._all == fleet.serving()["v1"]


def test_growth_that_fails_leaves_what_served(triton: type[FakeTriton], host: Host) -> None:
    fleet = started(host, "text", config({}, {}), {"m": model()})
    triton.unhealthy = "The container did not pass the ping health check."
    with pytest.raises(LocalSageMakerError, match="did not pass the ping health check"):
        fleet.scale({"v1": 2, "v2": 2})
    assert count(fleet) == {"v1": 1, "v2": 1}
    assert [made.stopped for made in triton.made] == [0, 0, 1, 1]
    triton.unhealthy = None
    fleet.scale({"v1": 2, "v2": 1})
    assert count(fleet) == {"v1": 2, "v2": 1}


def test_an_instance_that_goes_finishes_its_calls_and_gets_no_more(
    triton: type[FakeTriton], host: Host
) -> None:
    fleet = started(host, "text", config({}), {"m": model()}, {"v1": 2})
    first, second = fleet._serving["v1"]
    calls = [begin(fleet, v1=1.0) for _ in range(2)]
    assert calls == [first, second]
    scaling = threading.Thread(target=fleet.scale, args=({"v1": 1},), daemon=True)
    scaling.start()
    eventually(lambda: len(fleet.serving()["v1"]) == 1)
    assert [begin(fleet, v1=1.0) for _ in range(2)] == [first, first]
    assert not triton.made[1].stopped
    fleet.release(second)
    scaling.join()
    assert [made.stopped for made in triton.made] == [0, 1]
    fleet.stop()
    assert [made.stopped for made in triton.made] == [1, 1]


def test_an_instance_that_goes_is_ended_with_calls_that_take_too_long(
    triton: type[FakeTriton], host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fleet_module, "DRAIN_SECONDS", 0.01)
    fleet = started(host, "text", config({}), {"m": model()}, {"v1": 2})
    for _ in range(2):
        begin(fleet, v1=1.0)
    fleet.scale({"v1": 1})
    assert [made.stopped for made in triton.made] == [0, 1]
