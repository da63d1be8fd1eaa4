"""More models than the memory of an instance holds."""

import os
import random
from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Any

import boto3
import pytest

from local_sagemaker.settings import MEMORY
from local_sagemaker.tests.support.endpoint_caller import (
    INPUT,
    EndpointCaller,
    Failure,
    run_in_threads,
)
from local_sagemaker.tests.support.endpoints import create_endpoint, multi_model
from local_sagemaker.tests.support.running import LocalSageMaker
from local_sagemaker.tests.support.tiny_models import pack_python, times
from local_sagemaker.tests.support.waiting import eventually

BUCKET = "shop-models"
GROUP = "/aws/sagemaker/Endpoints/many"
MEMORY_MIB = "100"
"""Room for two or three of the models: Triton takes 30 to 50 MiB, each of them about 20."""

CALLS, MODELS = (200, 50) if os.environ.get("FAULTS_FULL_SIZE") else (36, 6)


@pytest.fixture(scope="module", autouse=True)
def _memory() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(MEMORY, MEMORY_MIB)
        yield


@pytest.fixture(scope="module")
def caller(
    _memory: None, local_sagemaker: LocalSageMaker, tmp_path_factory: pytest.TempPathFactory
) -> EndpointCaller:
    """A caller of the endpoint `many`, which has MODELS models, and one that outgrows it."""
    s3: Any = boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    models = {f"m{number}": times(number) for number in range(MODELS)}
    models["grows"] = times(7, execute="self.kept = b'x' * (200 << 20)")
    for name, code in models.items():
        archive = pack_python(tmp_path_factory.mktemp("models") / name, code)
        s3.put_object(Bucket=BUCKET, Key=f"{name}.tar.gz", Body=archive)
    create_endpoint("many", multi_model(f"s3://{BUCKET}/"))
    return EndpointCaller("many")


def invoke_until_ready(caller: EndpointCaller, number: int) -> tuple[float, Counter[str]]:
    """Invoke a model until it answers; return the answer and the counts of error codes."""
    codes = Counter[str]()
    while isinstance(answer := caller.predict_or_failure(f"m{number}"), Failure):
        codes[answer.code] += 1
        assert answer.status == 429, answer
    return answer, codes


def test_cold_calls_beyond_the_memory_are_answered(caller: EndpointCaller) -> None:
    requests = [number % MODELS for number in range(CALLS)]
    random.Random(1).shuffle(requests)
    tasks = (partial(invoke_until_ready, caller, number) for number in requests)
    with run_in_threads(*tasks) as calls:
        pass  # the end of the block waits for all calls
    assert [call.result()[0] for call in calls] == [INPUT * number for number in requests]
    assert {code for call in calls for code in call.result()[1]} <= {"ModelNotReadyException"}
    logs: Any = boto3.client("logs")
    unloads = {"logGroupName": GROUP, "filterPattern": '"successfully unloaded"'}
    eventually(lambda: len(logs.filter_log_events(**unloads)["events"]) >= MODELS - 4)


def test_model_that_outgrows_the_instance_is_killed_visibly(
    local_sagemaker: LocalSageMaker, caller: EndpointCaller
) -> None:
    caller.predict_or_failure("grows")  # it can be killed before it answers
    reported = "The process of grows.tar.gz, which used "
    logs: Any = boto3.client("logs")
    pattern = '"local SageMaker: It is out of memory"'
    (line,) = eventually(
        lambda: logs.filter_log_events(logGroupName=GROUP, filterPattern=pattern)["events"]
    )
    assert reported in line["message"]
    assert reported in local_sagemaker.folder.log.read_text()
    failure = caller.failure("grows")
    assert (failure.status, failure.code) == (424, "ModelError")
    assert "Stub process 'grows.tar.gz_0' is not healthy" in failure.message
    assert caller.predict("m1") == INPUT
