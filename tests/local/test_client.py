"""The client for applications against a real Triton: streams, faults, load."""

import asyncio
import json
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boto3
import pytest

from endpoint_client import AsyncEndpointClient, EndpointClient, InvalidInput, ModelFailed
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

BUCKET = "client-models"
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


@pytest.fixture(scope="module")
def endpoints(
    local_sagemaker: LocalSageMaker, tmp_path_factory: pytest.TempPathFactory
) -> LocalSageMaker:
    """`math` has two versions of a model that multiplies, `talk` one that speaks."""
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
    for key, archive in archives.items():
        s3.put_object(Bucket=BUCKET, Key=key, Body=archive)
    host("math", multi_model(f"s3://{BUCKET}/math/"))
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


def test_no_answer_is_wrong_while_everything_changes(
    endpoints: LocalSageMaker, math: EndpointClient
) -> None:
    """A publication, an update and a killed Triton under calls of 16 threads and 64 coroutines."""
    over = False
    answers: dict[float, int] = {}
    failures: list[Exception] = []

    def call(number: int) -> None:
        try:
            answer = float(math.invoke("times", {"X": [[number]]})["Y"][0, 0]) / number
            answers[answer] = answers.get(answer, 0) + 1
        except ModelFailed as error:  # those under way in the Triton that is killed
            failures.append(error)

    def calls(number: int) -> None:
        while not over:
            call(number + 1)

    async def coroutines() -> None:
        async with AsyncEndpointClient(math) as asynchronous:

            async def calls(number: int) -> None:
                while not over:
                    try:
                        answer = await asynchronous.invoke("times", {"X": [[number]]})
                    except ModelFailed as error:
                        failures.append(error)
                    else:
                        assert answer["Y"][0, 0] in (2 * number, 3 * number)

            await asyncio.gather(*(calls(number) for number in range(1, 65)))
            assert asyncio.all_tasks() == {asyncio.current_task()}

    math.invoke("times", {"X": [[1]]})
    sockets = len(list(Path("/proc/self/fd").iterdir()))
    with ThreadPoolExecutor(17) as threads:
        futures = [threads.submit(calls, number) for number in range(16)]
        futures.append(threads.submit(asyncio.run, coroutines()))
        publish("times", "3", "math", "times-3.tar.gz", NUMBER)
        configure("math-new", multi_model(f"s3://{BUCKET}/math/"))
        sagemaker: Any = boto3.client("sagemaker")
        sagemaker.update_endpoint(EndpointName="math", EndpointConfigName="math-new")
        in_service("math")
        assert failures == []
        for triton in processes(endpoints.folder.instances, "tritonserver"):
            os.kill(triton, signal.SIGKILL)
        while answers.get(3.0, 0) < 200:
            call(7)
        over = True
        for future in futures:
            future.result()
    assert set(answers) == {2.0, 3.0}
    assert math.resolve("times").version == "3"
    math.close()
    assert len(list(Path("/proc/self/fd").iterdir())) <= sockets
