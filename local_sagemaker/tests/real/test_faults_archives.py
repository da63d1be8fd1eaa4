"""Invalid archives and models: errors of their callers, and invocations of other models."""

import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import boto3
import pytest

from local_sagemaker.tests.support.endpoint_caller import EndpointCaller, run_in_threads
from local_sagemaker.tests.support.endpoints import (
    create_config,
    create_endpoint,
    multi_model,
    single_model,
)
from local_sagemaker.tests.support.running import LocalSageMaker
from local_sagemaker.tests.support.tiny_models import (
    CANNOT_LOAD,
    CONFIG,
    Barrier,
    pack,
    pack_python,
    times,
    write,
)
from local_sagemaker.tests.support.waiting import eventually

BUCKET = "shop-archives"
NOT_LOADED = 424, "ModelError"


@pytest.fixture(scope="module")
def many(
    local_sagemaker: LocalSageMaker, tmp_path_factory: pytest.TempPathFactory
) -> EndpointCaller:
    boto3.client("s3").create_bucket(Bucket=BUCKET)
    upload("twice", pack_python(tmp_path_factory.mktemp("models") / "twice", times(2)))
    create_endpoint("many", multi_model(f"s3://{BUCKET}/"))
    return EndpointCaller("many")


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return pack_python(tmp_path_factory.mktemp("good") / "good", times(3))


def upload(model: str, archive: bytes) -> None:
    s3: Any = boto3.client("s3")
    s3.put_object(Bucket=BUCKET, Key=f"{model}.tar.gz", Body=archive)


def test_broken_model_is_loaded_after_its_replacement(
    many: EndpointCaller, good: bytes, tmp_path: Path
) -> None:
    garbage = {"m/config.pbtxt": "input [", "m/1/model.py": times(2)}
    for model, files in (("nothing", {"readme": ""}), ("garbage", garbage)):
        upload(model, pack(write(tmp_path / model, files)))
        failure = many.failure(model)
        assert (failure.status, failure.code) == NOT_LOADED
        assert "error (400)" in failure.message
        upload(model, good)
        assert many.predict(model) == 21


def test_errors_contain_no_local_path(
    local_sagemaker: LocalSageMaker, many: EndpointCaller, tmp_path: Path
) -> None:
    upload("fails", pack_python(tmp_path / "fails", f"import numpy\nnumpy.load('x')\n{times(2)}"))
    onnx = {"m/config.pbtxt": CONFIG.replace("python", "onnxruntime"), "m/1/model.onnx": "none"}
    upload("none", pack(write(tmp_path / "none", onnx)))
    for model, file in (("fails", "numpy/lib/npyio.py"), ("none", "onnxruntime/model.py")):
        failure = many.failure(model)
        assert (failure.status, failure.code) == NOT_LOADED
        assert file in failure.message
        for folder in (local_sagemaker.folder.root, Path(sys.prefix), Path(sys.base_prefix)):
            assert f"{folder}/" not in failure.message


def test_failed_start_is_explained_in_cloudwatch_logs(
    local_sagemaker: LocalSageMaker, many: EndpointCaller, tmp_path: Path
) -> None:
    upload("broken", pack_python(tmp_path / "broken", times(2).replace(*CANNOT_LOAD)))
    create_config("broken", single_model(f"s3://{BUCKET}/broken.tar.gz", default_model="broken"))
    sagemaker, logs = boto3.client("sagemaker"), boto3.client("logs")
    sagemaker.create_endpoint(EndpointName="broken", EndpointConfigName="broken")
    describe = partial(sagemaker.describe_endpoint, EndpointName="broken")
    eventually(lambda: describe()["EndpointStatus"] == "Failed")
    assert describe()["FailureReason"] == (
        "The primary container for production variant AllTraffic did not pass the ping health "
        "check. Please check CloudWatch logs for this endpoint."
    )
    group = "/aws/sagemaker/Endpoints/broken"
    eventually(
        lambda: logs.filter_log_events(logGroupName=group, filterPattern="OSError")["events"]
    )


def test_python_model_without_configuration_has_no_inputs(
    many: EndpointCaller, good: bytes, tmp_path: Path
) -> None:
    upload("bare", pack(write(tmp_path, {"m/1/model.py": times(2)})))
    failure = many.failure("bare")
    assert (failure.status, failure.code) == NOT_LOADED
    assert "expected 0 inputs but got 1 inputs" in failure.message
    upload("bare", good)  # no new download: the model is loaded
    assert many.failure("bare") == failure


def test_first_of_two_folders_is_invoked(many: EndpointCaller, tmp_path: Path) -> None:
    files = {f"{name}/config.pbtxt": CONFIG for name in "ab"}
    models = {"b/1/model.py": times(5), "a/1/model.py": times(4)}
    upload("two", pack(write(tmp_path, files | models)))
    assert many.predict("two") == 28


def test_loaded_model_answers_during_hanging_loads(
    local_sagemaker: LocalSageMaker,
    many: EndpointCaller,
    tmp_path: Path,
    new_barrier: Callable[[], Barrier],
) -> None:
    assert many.predict("twice") == 14
    barrier = new_barrier()
    slow = ["slow-1", "slow-2", "slow-3", "slow-4"]
    for model in slow:
        upload(model, pack_python(tmp_path / model, barrier.stops(5, at="initialize")))
    with run_in_threads(*(lambda model=model: many.predict(model) for model in slow)) as answers:
        barrier.wait_until_reached()
        assert [many.predict("twice") for _ in range(100)] == [14] * 100
        assert not any(answer.done() for answer in answers)
        barrier.open()
    assert [answer.result() for answer in answers] == [35] * 4
