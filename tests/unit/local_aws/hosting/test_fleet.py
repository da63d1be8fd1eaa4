import dataclasses
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from local_aws.errors import ApiError, LocalAwsError
from local_aws.hosting import fleet as fleet_module
from local_aws.hosting.capacity import GIB, Capacity
from local_aws.hosting.fleet import Fleet, Host
from local_aws.hosting.instance import Running
from local_aws.hosting.multi_model_container import MultiModelContainer
from local_aws.hosting.single_model_container import SingleModelContainer
from local_aws.hosting.triton import Response
from tests.unit.local_aws.conftest import PATIENCE, eventually
from tests.unit.local_aws.hosting.conftest import tar_gz

JSON = {"Content-Type": "application/json"}


class FakeTriton:
    """A server that is healthy, or not, and keeps how it was started and asked."""

    unhealthy: str | None = None
    made: list["FakeTriton"]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.installation, self.options = arguments[0], options
        self.waited: list[float] = []
        self.stopped = 0
        self.ended = threading.Event()
        type(self).made.append(self)

    def wait_until_healthy(self, timeout: float) -> None:
        self.waited.append(timeout)
        if self.unhealthy:
            raise LocalAwsError(self.unhealthy)

    def wait(self) -> None:
        self.ended.wait()

    def stop(self) -> None:
        self.stopped += 1
        self.ended.set()


class FakeInstance:
    """Answers, or fails, once it may."""

    def __init__(self, name: str, outcome: Response | Exception) -> None:
        self.name, self.outcome = name, outcome
        self.asked: list[tuple[str, bytes, dict[str, str]]] = []
        self.may_answer = threading.Event()
        self.may_answer.set()

    def invoke(self, target_model: str, *, body: bytes, headers: dict[str, str]) -> Response:
        self.asked.append((target_model, body, headers))
        self.may_answer.wait()
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome


@pytest.fixture
def triton(monkeypatch: pytest.MonkeyPatch) -> type[FakeTriton]:
    """What is started instead of Triton."""
    made = type("Started", (FakeTriton,), {"made": []})
    monkeypatch.setattr(fleet_module, "Triton", made)
    return made


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(
        triton=NOT_ISOLATED,
        backends=tmp_path / "backends",
        folder=tmp_path / "instances",
        s3="the client",  # type: ignore[arg-type]
    )


def variant(name: str = "only", outcome: Response | Exception | None = None) -> Any:
    return FakeInstance(name, outcome or Response(200, {}, b"answer"))


def started(*arguments: Any) -> Fleet:
    fleet = Fleet()
    fleet.start(*arguments)
    return fleet


def running(fleet: Fleet) -> Running:
    (instance,) = fleet._instances
    assert instance._running
    return instance._running


def invoke(fleet: Fleet, *, variant: str | None = None, **weights: float) -> tuple[str, Response]:
    with fleet.counted():
        return fleet.invoke(
            weights or {"only": 1.0},
            target_model="minilm.tar.gz",
            target_variant=variant,
            body=b"question",
            headers=JSON,
        )


ISOLATED: Any = SimpleNamespace(isolated=True)
NOT_ISOLATED: Any = SimpleNamespace(isolated=False)


def model(**container: Any) -> dict[str, Any]:
    fields = {"Mode": "MultiModel", "ModelDataUrl": "s3://models/text/", **container}
    return {"PrimaryContainer": fields}


def config(*variants: dict[str, Any]) -> dict[str, Any]:
    return {
        "ProductionVariants": [
            {"VariantName": f"v{number}", "ModelName": "m", **it}
            for number, it in enumerate(variants, 1)
        ]
    }


# Invocations


def test_an_invocation_is_answered_by_a_variant_that_is_named() -> None:
    only = variant()
    name, response = invoke(Fleet(only))
    assert (name, response.body) == ("only", b"answer")
    assert only.asked == [("minilm.tar.gz", b"question", JSON)]


def test_weights_share_the_invocations_out() -> None:
    fleet = Fleet(variant("a"), variant("none"), variant("b"))
    names = [invoke(fleet, a=1.0, b=3.0, none=0.0)[0] for _ in range(400)]
    assert "none" not in names
    assert 40 < names.count("a") < 160  # 100 expected; 60 off is seven standard deviations


def test_a_variant_that_is_asked_for_answers_whatever_its_weight() -> None:
    fleet = Fleet(variant("a"), variant("b"))
    assert invoke(fleet, variant="b", a=1.0, b=0.0)[0] == "b"


def test_an_unknown_variant_is_refused_with_those_there_are() -> None:
    fleet = Fleet(variant("a"), variant("b"))
    with pytest.raises(ApiError) as refused:
        invoke(fleet, variant="c", a=1.0, b=1.0)
    assert refused.value.code == "ValidationError"
    assert refused.value.message == "Variant c not found; the endpoint has a, b."


def test_without_any_weight_no_variant_is_chosen() -> None:
    with pytest.raises(ApiError) as refused:
        invoke(Fleet(variant("a"), variant("b")), a=0.0, b=0.0)
    assert refused.value.code == "ValidationError"
    assert refused.value.message == (
        "Every variant has weight 0: name one as TargetVariant or give one a weight."
    )


@pytest.mark.parametrize(("status", "kind"), [(400, "client"), (404, "client"), (500, "server")])
def test_an_answer_other_than_200_is_a_model_error(status: int, kind: str) -> None:
    fleet = Fleet(variant(outcome=Response(status, {}, b"no")))
    with pytest.raises(ApiError) as refused:
        invoke(fleet)
    assert (refused.value.code, refused.value.status) == ("ModelError", 424)
    assert refused.value.message == (
        f'Received {kind} error ({status}) from primary with message "no"'
    )


def test_a_container_that_does_not_answer_is_a_model_error() -> None:
    with pytest.raises(ApiError) as refused:
        invoke(Fleet(variant(outcome=ConnectionError("the container broke off"))))
    assert (refused.value.code, refused.value.status) == ("ModelError", 424)
    assert refused.value.message == "The container did not answer: the container broke off"


def test_errors_of_the_container_pass_as_they_are() -> None:
    error = ApiError("ModelNotReadyException", "still loading", status=429)
    with pytest.raises(ApiError) as refused:
        invoke(Fleet(variant(outcome=error)))
    assert refused.value is error


# Draining


def test_draining_waits_for_the_invocations_under_way() -> None:
    only = variant()
    only.may_answer.clear()
    fleet = Fleet(only)
    asking = [threading.Thread(target=invoke, args=(fleet,), daemon=True) for _ in range(2)]
    for thread in asking:
        thread.start()
    eventually(lambda: len(only.asked) == 2)
    draining = threading.Thread(target=fleet.drain, args=(PATIENCE,), daemon=True)
    draining.start()
    draining.join(0.05)
    assert draining.is_alive()
    only.may_answer.set()
    for thread in (draining, *asking):
        thread.join()


@pytest.mark.parametrize("outcome", [None, Response(500, {}, b""), ConnectionError("gone")])
def test_nothing_is_under_way_after_an_invocation_however_it_ended(
    outcome: Response | Exception | None,
) -> None:
    fleet = Fleet(variant(outcome=outcome))
    try:
        invoke(fleet)
    except ApiError:
        assert outcome is not None
    assert fleet._busy == 0
    fleet.drain(0)


def test_draining_gives_up_after_its_time() -> None:
    only = variant()
    only.may_answer.clear()
    fleet = Fleet(only)
    asking = threading.Thread(target=invoke, args=(fleet,), daemon=True)
    asking.start()
    eventually(lambda: only.asked)
    fleet.drain(0.01)
    assert fleet._busy == 1
    only.may_answer.set()
    asking.join()


# Start and stop


def test_every_variant_gets_a_server_in_a_folder_of_its_own(
    triton: type[FakeTriton], host: Host
) -> None:
    environment = {"SAGEMAKER_TRITON_THREAD_COUNT": "4", "OMP_NUM_THREADS": "1"}
    fleet = started(host, "text", config({}, {}), {"m": model(Environment=environment)})
    assert [it.name for it in fleet._instances] == ["v1", "v2"]
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
        assert made.options["said"][0].startswith("Triton is running in SageMaker MME mode.")


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
    with pytest.raises(LocalAwsError, match="Invalid SAGEMAKER_TRITON_INFERENCE_TYPE 'chat'"):
        started(host, "text", config({}), {"m": model(Environment=environment)})


def test_a_variants_container_reads_from_its_models_prefix(
    triton: type[FakeTriton], host: Host
) -> None:
    fleet = started(host, "text", config({}), {"m": model()})
    container = running(fleet).container
    assert isinstance(container, MultiModelContainer)
    assert (container._prefix.bucket, container._prefix.key) == ("models", "text/")
    assert container._folder == triton.made[0].options["folder"] / "models"


def test_a_variants_volume_and_its_models_cache_setting_are_its_containers(
    triton: type[FakeTriton], host: Host
) -> None:
    small = {"InstanceType": "ml.c5.large", "VolumeSizeInGB": 5}
    uncached = model(MultiModelConfig={"ModelCacheSetting": "Disabled"})
    container: Any = running(started(host, "text", config(small), {"m": uncached})).container
    assert container._capacity == Capacity.of(small)
    assert container._capacity.disk == 5 * GIB
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
    triton.made[0].ended.set()
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
    with pytest.raises(LocalAwsError, match=r"\(bucket: models, key: search/none\.tar\.gz\)"):
        fleet.start(dataclasses.replace(host, s3=s3), "search", config(*variants), models)
    fleet.stop()
    assert [made.stopped for made in triton.made] == [1]


def test_one_unhealthy_variant_fails_the_start_and_stop_ends_them_all(
    triton: type[FakeTriton], host: Host
) -> None:
    triton.unhealthy = "The container did not pass the ping health check."
    fleet = Fleet()
    with pytest.raises(LocalAwsError, match=r"^The container did not pass the ping health check"):
        fleet.start(host, "text", config({}, {}), {"m": model()})
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
    with pytest.raises(LocalAwsError, match="the instances were stopped while they started"):
        fleet.start(host, "text", config({}, {}), {"m": model()})
    fleet.stop()
    assert [made.stopped for made in triton.made] == [1]


def test_a_fleet_that_is_stopped_at_the_last_moment_has_not_started(
    triton: type[FakeTriton], host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Fleet()
    monkeypatch.setattr(triton, "wait_until_healthy", lambda *_: fleet.stop())
    with pytest.raises(LocalAwsError, match="the instances were stopped while they started"):
        fleet.start(host, "text", config({}), {"m": model()})
    assert triton.made[0].stopped
