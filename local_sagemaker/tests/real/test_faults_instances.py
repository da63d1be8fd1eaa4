"""Killed servers and model processes: errors of callers, and replacement."""

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import boto3
import pytest

from local_sagemaker.hosting.model_store import model_hash
from local_sagemaker.tests.support.endpoint_caller import (
    EndpointCaller,
    Failure,
    processes,
    run_in_threads,
)
from local_sagemaker.tests.support.endpoints import create_endpoint, multi_model, single_model
from local_sagemaker.tests.support.running import LocalSageMaker
from local_sagemaker.tests.support.tiny_models import EXIT, Gate, pack_python, times
from local_sagemaker.tests.support.waiting import eventually

BUCKET = "shop-models"
SERVER, STUB = "tritonserver", "triton_python_backend_stub"


@pytest.fixture(scope="module")
def gates(new_gate: Callable[[], Gate]) -> dict[str, Gate]:
    return {at: new_gate() for at in ("initialize", "execute")}


@pytest.fixture(scope="module")
def many(
    local_sagemaker: LocalSageMaker,
    gates: dict[str, Gate],
    tmp_path_factory: pytest.TempPathFactory,
) -> EndpointCaller:
    """An endpoint of one instance with many models."""
    s3: Any = boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    models = {
        "twice": times(2),
        "thrice": times(3),
        "exits": times(4, execute=EXIT),
        "exits-at-once": times(5, initialize=EXIT),
        **{at: gate.stops(6, at=at) for at, gate in gates.items()},
    }
    for model, code in models.items():
        archive = pack_python(tmp_path_factory.mktemp("models") / model, code)
        s3.put_object(Bucket=BUCKET, Key=f"{model}.tar.gz", Body=archive)
    create_endpoint("many", multi_model(f"s3://{BUCKET}/"))
    return EndpointCaller("many")


@pytest.fixture
def server(local_sagemaker: LocalSageMaker, many: EndpointCaller) -> int:
    """The process ID of the only server."""
    (result,) = processes(local_sagemaker.folder.instances, SERVER)
    return result


def wait_for_replacement(aws: LocalSageMaker, many: EndpointCaller, killed: int) -> None:
    """Wait until a new server answers; until then, calls must fail with 424."""
    answers = []

    def has_answered() -> bool:
        answers.append(many.predict_or_failure("twice"))
        return answers[-1] == 14

    eventually(has_answered)
    assert {answer.status for answer in answers if isinstance(answer, Failure)} <= {424}
    (replacement,) = processes(aws.folder.instances, SERVER)
    assert replacement != killed
    description = boto3.client("sagemaker").describe_endpoint(EndpointName=many.endpoint)
    assert description["EndpointStatus"] == "InService"


def stub(aws: LocalSageMaker, model: str) -> int:
    """Return the process ID of a Python model."""
    (result,) = (
        process
        for process in processes(aws.folder.instances, STUB)
        if model_hash(f"{model}.tar.gz") in Path(f"/proc/{process}/cmdline").read_text()
    )
    return result


def test_ended_model_process_fails_until_replacement(
    local_sagemaker: LocalSageMaker, many: EndpointCaller, server: int
) -> None:
    assert many.predict("thrice") == 21
    os.kill(stub(local_sagemaker, "thrice"), signal.SIGKILL)
    for model in ("thrice", "exits", "thrice"):
        failure = many.failure(model)
        assert (failure.status, failure.code) == (424, "ModelError")
        assert "error (400)" in failure.message
        assert f"Stub process '{model}.tar.gz_0' is not healthy" in failure.message
        assert many.predict("twice") == 14
    os.kill(server, signal.SIGKILL)
    wait_for_replacement(local_sagemaker, many, server)
    assert many.predict("thrice") == 21


def test_load_is_retried_after_the_model_exits(many: EndpointCaller, tmp_path: Path) -> None:
    for _ in range(2):
        failure = many.failure("exits-at-once")
        assert (failure.status, failure.code) == (424, "ModelError")
        assert "load failed for model" in failure.message
        assert many.predict("twice") == 14
    archive = pack_python(tmp_path / "exits-at-once", times(5))
    s3: Any = boto3.client("s3")
    s3.put_object(Bucket=BUCKET, Key="exits-at-once.tar.gz", Body=archive)
    assert many.predict("exits-at-once") == 35


def test_killed_idle_server_is_replaced(
    local_sagemaker: LocalSageMaker, many: EndpointCaller, server: int
) -> None:
    os.kill(server, signal.SIGKILL)
    wait_for_replacement(local_sagemaker, many, server)


@pytest.mark.parametrize("at", ["initialize", "execute"])
def test_call_fails_if_its_server_is_killed(
    local_sagemaker: LocalSageMaker,
    many: EndpointCaller,
    server: int,
    gates: dict[str, Gate],
    at: str,
) -> None:
    with run_in_threads(lambda: many.failure(at)) as (failure,):
        gates[at].wait_until_reached()
        os.kill(server, signal.SIGKILL)
    gates[at].open()
    assert (failure.result().status, failure.result().code) == (424, "ModelError")
    assert failure.result().message.startswith("The container did not answer: ")
    wait_for_replacement(local_sagemaker, many, server)
    assert many.predict(at) == 42


def test_other_instance_answers_during_a_replacement(
    local_sagemaker: LocalSageMaker, many: EndpointCaller
) -> None:
    s3: Any = boto3.client("s3")
    archive = s3.get_object(Bucket=BUCKET, Key="twice.tar.gz")["Body"].read()
    s3.put_object(Bucket=BUCKET, Key="one.tar.gz", Body=archive)
    create_endpoint(
        "one", single_model(f"s3://{BUCKET}/one.tar.gz", default_model="twice"), instances=2
    )
    one, folder = EndpointCaller("one"), local_sagemaker.folder.instances / "one-"
    s3.delete_object(Bucket=BUCKET, Key="one.tar.gz")  # a replacement cannot start
    killed, other = processes(folder, SERVER)
    os.kill(killed, signal.SIGKILL)
    eventually(lambda: "Failed to download model data" in local_sagemaker.folder.log.read_text())
    assert [one.predict() for _ in range(10)] == [14] * 10
    s3.put_object(Bucket=BUCKET, Key="one.tar.gz", Body=archive)
    eventually(lambda: len(processes(folder, SERVER)) == 2)
    assert other in processes(folder, SERVER)
    boto3.client("sagemaker").delete_endpoint(EndpointName="one")
    eventually(
        lambda: not boto3.client("sagemaker").list_endpoints(NameContains="one")["Endpoints"]
    )
    assert processes(folder) == []
