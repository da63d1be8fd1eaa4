"""The endpoint client against a real Triton: streams, faults, load."""

import asyncio
import os
import signal
import threading
import uuid
from typing import Any

import boto3
import pytest

from endpoint_client import AsyncEndpointClient, EndpointClient, ModelFailed
from local_sagemaker.settings import MEMORY
from local_sagemaker.tests.support.endpoint_caller import processes
from local_sagemaker.tests.support.endpoints import (
    create_config,
    create_endpoint,
    multi_model,
    single_model,
    wait_in_service,
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
from plan.catalog import Catalog
from tests.catalog_items import create_table, write_entry
from tests.local.client_callers import call_concurrently
from tests.local.invoking import NUMBER_SIGNATURE

BUCKET = "client-models"
MODELS = [f"m{number}" for number in range(7)]
STREAM_SETTINGS = {"SAGEMAKER_TRITON_INFERENCE_TYPE": "generate_stream"}
TEXT_SIGNATURE = {
    "inputs": [{"name": "PROMPT", "datatype": "BYTES", "shape": [1]}],
    "outputs": [{"name": "TEXT", "datatype": "BYTES", "shape": [1]}],
    "max_batch_size": 0,
}


def publish(
    model: str, version: str, endpoint: str, target_model: str | None, signature: Any
) -> None:
    """Write a model's catalog entry, as a publication does."""
    entry = {"model": model, "version": version, "endpoint": endpoint, "target_model": target_model}
    catalog = Catalog(boto3.client("dynamodb"), "shop", endpoint)
    write_entry(catalog, {**entry, "signature": signature}, cause="published")


def update(endpoint: str) -> None:
    """Update an endpoint to a new configuration and wait until it is in service."""
    config = f"{endpoint}-{uuid.uuid4()}"
    create_config(config, multi_model(f"s3://{BUCKET}/{endpoint}/"))
    boto3.client("sagemaker").update_endpoint(EndpointName=endpoint, EndpointConfigName=config)
    wait_in_service(endpoint)


SETTINGS = {MEMORY: "130"}
"""Settings of the local SageMaker: memory for 3 to 6 models.

Triton takes 30 to 50 MiB, each model 16 to 25.
"""


@pytest.fixture(scope="module")
def endpoints(
    local_sagemaker: LocalSageMaker, tmp_path_factory: pytest.TempPathFactory
) -> LocalSageMaker:
    """The endpoints `math`, `talk` and `crowded`.

    `math` has two versions of a model that multiplies its input, `talk` a decoupled model, and
    `crowded` more models than fit into memory; model n multiplies by n + 1.
    """
    folder, s3 = tmp_path_factory.mktemp("models"), boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    create_table(boto3.client("dynamodb"), "shop")
    speaks = write(
        folder / "speaks", {"speaks/config.pbtxt": SPEAKS_CONFIG, "speaks/1/model.py": SPEAKS}
    )
    archives = {
        "math/times-2.tar.gz": pack_python(folder / "two" / "times", times(2)),
        "math/times-3.tar.gz": pack_python(folder / "three" / "times", times(3)),
        "talk/speaks.tar.gz": pack(speaks),
    }
    for number, model in enumerate(MODELS):
        archives[f"crowded/{model}.tar.gz"] = pack_python(folder / model, times(number + 1))
        publish(model, "1", "crowded", f"{model}.tar.gz", NUMBER_SIGNATURE)
    for key, archive in archives.items():
        s3.put_object(Bucket=BUCKET, Key=key, Body=archive)
    create_endpoint("math", multi_model(f"s3://{BUCKET}/math/"))
    create_endpoint("crowded", multi_model(f"s3://{BUCKET}/crowded/"))
    talk = single_model(f"s3://{BUCKET}/talk/speaks.tar.gz", default_model="speaks")
    create_endpoint("talk", {**talk, "Environment": {**talk["Environment"], **STREAM_SETTINGS}})
    publish("times", "2", "math", "times-2.tar.gz", NUMBER_SIGNATURE)
    publish("speaks", "1", "talk", None, TEXT_SIGNATURE)
    return local_sagemaker


def test_responses_of_a_decoupled_model_are_streamed(endpoints: LocalSageMaker) -> None:
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


def test_responses_stay_correct_during_faults(endpoints: LocalSageMaker) -> None:
    """Faults: a publication, an update, a killed Triton."""
    publish("times", "2", "math", "times-2.tar.gz", NUMBER_SIGNATURE)
    math = EndpointClient(stage="shop", endpoint="math", catalog_ttl=0.2)
    with math, call_concurrently(math, "times", callers=256) as calls:
        calls.wait_for_more(100, factor=2)
        publish("times", "3", "math", "times-3.tar.gz", NUMBER_SIGNATURE)
        calls.wait_for_more(100, factor=3)
        update("math")
        calls.wait_for_more(100, factor=3)
        assert calls.failures == []
        while not calls.failures:  # until it is killed during a call, and not between two
            for triton in processes(endpoints.folder.instances / "math-", "tritonserver"):
                os.kill(triton, signal.SIGKILL)
            calls.wait_for_more(100)
    assert {type(failure) for failure in calls.failures} == {ModelFailed}  # not retried
    assert set(calls.responses) == {("times", 2.0), ("times", 3.0)}
    names = [thread.name for thread in threading.enumerate()]
    assert not [name for name in names if name.startswith("endpoint_client")]


def test_calls_of_evicted_models_succeed(endpoints: LocalSageMaker) -> None:
    def unload_count() -> int:
        (log,) = endpoints.folder.instances.glob("crowded-*/triton.log")
        return log.read_text(errors="replace").count("successfully unloaded")

    with (
        EndpointClient(stage="shop", endpoint="crowded") as client,
        # Few: on a busy machine, a call that waits for hundreds of others would time out.
        call_concurrently(client, *MODELS, callers=32) as calls,
    ):
        calls.wait_for(lambda: unload_count() >= 2)
    no_memory = [error for error in calls.failures if error.status == 507]
    assert calls.failures == no_memory  # all loaded models were in use
    assert set(calls.responses) <= {(model, number + 1) for number, model in enumerate(MODELS)}
