"""The client for applications against a real Triton: streams, faults, load."""

import asyncio
import json
import os
import signal
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest

from endpoint_client import AsyncEndpointClient, EndpointClient, InvalidInput, ModelFailed
from local_sagemaker.settings import MEMORY
from local_sagemaker.tests.support.asking import processes
from local_sagemaker.tests.support.endpoints import (
    configure,
    host,
    in_service,
    multi_model,
    single_model,
)
from local_sagemaker.tests.support.running import LocalSageMaker
from local_sagemaker.tests.support.tiny_models import (
    SPEAKS,
    SPEAKS_CONFIG,
    pack,
    pack_python,
    times,
    write,
)
from tests.local.client_callers import THROTTLED, UNAVAILABLE, calling, ssm_before

BUCKET = "client-models"
CROWD = [f"m{number}" for number in range(7)]
GENERATES = {"SAGEMAKER_TRITON_INFERENCE_TYPE": "generate_stream"}
NUMBER = {
    "inputs": [{"name": "X", "datatype": "FP32", "shape": [-1, 1]}],
    "outputs": [{"name": "Y", "datatype": "FP32", "shape": [-1, 1]}],
    "max_batch_size": 8,
}
TEXT = {
    "inputs": [{"name": "PROMPT", "datatype": "BYTES", "shape": [1]}],
    "outputs": [{"name": "TEXT", "datatype": "BYTES", "shape": [1]}],
    "max_batch_size": 0,
}


def publish(model: str, version: str, endpoint: str, target: str | None, signature: Any) -> None:
    """Write a model's catalog entry, as a publication does."""
    entry = {"model": model, "version": version, "endpoint": endpoint, "target_model": target}
    boto3.client("ssm").put_parameter(
        Name=f"/triton/shop/{endpoint}/{model}",
        Value=json.dumps({**entry, "signature": signature}),
        Type="String",
        Overwrite=True,
    )


def update(endpoint: str) -> None:
    """Update an endpoint to a new configuration; return when it is in service."""
    config = f"{endpoint}-{uuid.uuid4()}"
    configure(config, multi_model(f"s3://{BUCKET}/{endpoint}/"))
    boto3.client("sagemaker").update_endpoint(EndpointName=endpoint, EndpointConfigName=config)
    in_service(endpoint)


@pytest.fixture(scope="module", autouse=True)
def _memory() -> Iterator[None]:
    """Room for 3 to 6 models on an instance: Triton takes 30 to 50 MiB, each of them 16 to 25."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MEMORY, "130")
        yield


@pytest.fixture(scope="module")
def endpoints(
    _memory: None, local_sagemaker: LocalSageMaker, tmp_path_factory: pytest.TempPathFactory
) -> LocalSageMaker:
    """`math` has two versions of a model that multiplies, `talk` one that speaks.

    `crowded` has more models than an instance holds; number n of them multiplies by n + 1.
    """
    folder, s3 = tmp_path_factory.mktemp("models"), boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    speaks = write(
        folder / "speaks", {"speaks/config.pbtxt": SPEAKS_CONFIG, "speaks/1/model.py": SPEAKS}
    )
    archives = {
        "math/times-2.tar.gz": pack_python(folder / "two" / "times", times(2)),
        "math/times-3.tar.gz": pack_python(folder / "three" / "times", times(3)),
        "talk/speaks.tar.gz": pack(speaks),
    }
    for number, model in enumerate(CROWD):
        archives[f"crowded/{model}.tar.gz"] = pack_python(folder / model, times(number + 1))
        publish(model, "1", "crowded", f"{model}.tar.gz", NUMBER)
    for key, archive in archives.items():
        s3.put_object(Bucket=BUCKET, Key=key, Body=archive)
    host("math", multi_model(f"s3://{BUCKET}/math/"))
    host("crowded", multi_model(f"s3://{BUCKET}/crowded/"))
    talk = single_model(f"s3://{BUCKET}/talk/speaks.tar.gz", default_model="speaks")
    host("talk", {**talk, "Environment": {**talk["Environment"], **GENERATES}})
    publish("times", "2", "math", "times-2.tar.gz", NUMBER)
    publish("speaks", "1", "talk", None, TEXT)
    return local_sagemaker


@pytest.fixture
def math(endpoints: LocalSageMaker) -> Iterator[EndpointClient]:
    with EndpointClient(stage="shop", endpoint="math", catalog_ttl=0.2) as client:
        yield client


def test_a_decoupled_model_s_responses_come_as_a_stream(endpoints: LocalSageMaker) -> None:
    with EndpointClient(stage="shop", endpoint="talk") as client:
        stream = client.stream("speaks", {"PROMPT": ["héllo"]}, parameters={"TIMES": 3})
        assert list(stream) == [{"TEXT": "héllo"}] * 3

        async def stream_twice() -> list[list[str]]:
            async with AsyncEndpointClient(client) as asynchronous:

                async def texts() -> list[str]:
                    inputs = {"PROMPT": ["a"]}
                    events = asynchronous.stream("speaks", inputs, parameters={"TIMES": 2})
                    return [event["TEXT"] async for event in events]

                return list(await asyncio.gather(texts(), texts()))

        assert asyncio.run(stream_twice()) == [["a", "a"]] * 2


def test_a_multi_model_endpoint_refuses_to_stream(math: EndpointClient) -> None:
    with pytest.raises(InvalidInput, match="a multi-model endpoint cannot stream"):
        next(iter(math.stream("times", {"X": [[1]]})))


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


CALLERS: list[dict[str, int]] = [{"threads": 1, "coroutines": 256}, {"threads": 64}]


@pytest.mark.parametrize("callers", CALLERS, ids=str)
def test_no_answer_is_wrong_and_no_call_fails_while_everything_changes(
    endpoints: LocalSageMaker,
    callers: dict[str, int],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A publication, an update, an SSM that throttles and then hangs up, and a killed Triton."""
    monkeypatch.setattr("endpoint_client._catalog.RETRY_SECONDS", 0.2)
    publish("times", "2", "math", "times-2.tar.gz", NUMBER)
    files, threads = open_files(), threading.active_count()
    with ssm_before(endpoints.environment["AWS_ENDPOINT_URL"]) as ssm:
        monkeypatch.setenv("AWS_ENDPOINT_URL_SSM", ssm.url)
        math = EndpointClient(stage="shop", endpoint="math", catalog_ttl=0.2)
        monkeypatch.delenv("AWS_ENDPOINT_URL_SSM")
        with math, calling(math, "times", **callers) as calls:
            calls.wait_for_more(100, factor=2)
            publish("times", "3", "math", "times-3.tar.gz", NUMBER)
            calls.wait_for_more(100, factor=3)
            update("math")
            for ssm.state in (THROTTLED, UNAVAILABLE):
                calls.wait_for(lambda: ssm.refused[ssm.state])
                calls.wait_for_more(100, factor=3)
            ssm.state = ""
            assert calls.failures == []
            for triton in processes(endpoints.folder.instances / "math-", "tritonserver"):
                os.kill(triton, signal.SIGKILL)
            calls.wait_for(lambda: calls.failures)
            calls.wait_for_more(100)
    assert {type(failure) for failure in calls.failures} == {ModelFailed}  # not one to be retried
    assert set(calls.answers) == {("times", 2.0), ("times", 3.0)}
    assert {record.levelname for record in caplog.records} == {"WARNING"}
    assert (open_files(), threading.active_count()) == (files, threads)


def test_calls_of_models_that_are_evicted_are_answered(endpoints: LocalSageMaker) -> None:
    def unloaded() -> int:
        (log,) = endpoints.folder.instances.glob("crowded-*/triton.log")
        return log.read_text(errors="replace").count("successfully unloaded")

    with (
        EndpointClient(stage="shop", endpoint="crowded") as client,
        calling(client, *CROWD, threads=64, coroutines=256) as calls,
    ):
        calls.wait_for(lambda: unloaded() >= 2)
    no_memory = [error for error in calls.failures if error.status == 507]
    assert calls.failures == no_memory  # while all models have calls in progress
    assert set(calls.answers) <= {(model, number + 1) for number, model in enumerate(CROWD)}
