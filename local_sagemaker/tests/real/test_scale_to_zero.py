"""An inference component that scales to 0 copies and instances, and back, also after a restart."""

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from local_sagemaker import lifecycle
from local_sagemaker.sagemaker.component import NO_CAPACITY
from local_sagemaker.settings import SPEED
from local_sagemaker.tests.support.endpoint_caller import processes
from local_sagemaker.tests.support.running import LocalSageMaker, local_sagemaker_in
from local_sagemaker.tests.support.sleeping_component import NAME, TEMPLATE
from local_sagemaker.tests.support.tiny_models import pack_python, times
from local_sagemaker.tests.support.waiting import eventually


@pytest.fixture(scope="module")
def local_sagemaker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalSageMaker]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SPEED, "120")
        with local_sagemaker_in(tmp_path_factory.mktemp("local_sagemaker")) as running:
            yield running


def invoke() -> float:
    """Return the output for 7. Raise `ClientError` without a copy."""
    tensor = {"name": "X", "shape": [1, 1], "datatype": "FP32", "data": [7]}
    runtime: Any = boto3.client("sagemaker-runtime")
    answer = runtime.invoke_endpoint(
        EndpointName="shop", Body=json.dumps({"inputs": [tensor]}), **NAME
    )
    return float(json.loads(answer["Body"].read())["outputs"][0]["data"][0])


@pytest.mark.drill
def test_component_scales_to_0_and_back(local_sagemaker: LocalSageMaker, tmp_path: Path) -> None:
    s3: Any = boto3.client("s3")
    s3.create_bucket(Bucket="models")
    archive = pack_python(tmp_path / "twice", times(2))
    s3.put_object(Bucket="models", Key="twice.tar.gz", Body=archive)
    cloudformation: Any = boto3.client("cloudformation")
    cloudformation.create_stack(StackName="shop", TemplateBody=TEMPLATE)
    waiter = {"Delay": 1, "MaxAttempts": 600}
    cloudformation.get_waiter("stack_create_complete").wait(StackName="shop", WaiterConfig=waiter)

    sagemaker: Any = boto3.client("sagemaker")

    def instances() -> int:
        (variant,) = sagemaker.describe_endpoint(EndpointName="shop")["ProductionVariants"]
        return int(variant["CurrentInstanceCount"])

    def copies() -> int:
        description = sagemaker.describe_inference_component(**NAME)
        return int(description["RuntimeConfig"]["CurrentCopyCount"])

    def answer() -> float | None:
        with suppress(ClientError):  # a copy without calls ends after seconds, and a call wakes it
            return invoke()
        return None

    assert eventually(answer) == 14
    eventually(lambda: copies() == 0)
    eventually(lambda: instances() == 0)
    assert not list(processes(local_sagemaker.folder.instances, "tritonserver"))

    with pytest.raises(ClientError) as refused:
        invoke()
    assert refused.value.response["Error"] == {"Code": "ValidationError", "Message": NO_CAPACITY}
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400

    assert eventually(answer) == 14

    logs: Any = boto3.client("logs")
    group = "/aws/sagemaker/InferenceComponents/twice"
    eventually(lambda: len(logs.describe_log_streams(logGroupName=group)["logStreams"]) >= 2)
    eventually(lambda: copies() == 0)
    lifecycle.down(local_sagemaker.folder)
    lifecycle.up(local_sagemaker.folder, keep=True, ends_with_caller=True)
    assert eventually(answer) == 14

    cloudformation.delete_stack(StackName="shop")
    cloudformation.get_waiter("stack_delete_complete").wait(StackName="shop", WaiterConfig=waiter)
    assert sagemaker.list_inference_components()["InferenceComponents"] == []
    assert not list(processes(local_sagemaker.folder.instances, "tritonserver"))
