"""A stage with several instance types on the local SageMaker: fallback, scaling and failure.

The emulated behaviour follows documents and public reports (local_sagemaker/hosting/pools.py); it
was not verified on AWS with these templates. The tests depend on each other, in this order.
"""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest

from delivery.errors import NO_CAPACITY
from endpoint_client import EndpointClient
from local_sagemaker.settings import CAPACITY, SPEED
from local_sagemaker.tests.support.tiny_models import times, write_python
from local_sagemaker.tests.support.waiting import eventually
from tests.local.conftest import Checkout
from tests.local.invoking import call_on_threads, predict

pytestmark = pytest.mark.drill

FIRST_TYPE, SECOND_TYPE, THIRD_TYPE = "ml.g6.xlarge", "ml.g5.xlarge", "ml.g6.2xlarge"
STAGE = """
account: "000000000000"
region: us-east-1
release: "25.04"
endpoints:
  math:
    models: [times]
    hosting: single-model
    instance_types: [ml.g6.xlarge, ml.g5.xlarge]
    provision_timeout_minutes: 5
    scaling: { min_count: 1, max_count: 2, concurrency: { ml.g6.xlarge: 1, ml.g5.xlarge: 1 } }
"""
ENDPOINT = "pooled-math"
SETTINGS = {CAPACITY: json.dumps({FIRST_TYPE: 0, THIRD_TYPE: 0}), SPEED: "120"}
"""Settings of the local SageMaker: no capacity for two types, and time 120 times faster."""


@pytest.fixture(scope="module")
def stage(checkout: Checkout) -> Checkout:
    write_python(checkout.path / "models" / "times", times(2))
    stage = checkout.write_stage("pooled", STAGE)
    stage.deploy()
    return stage


@pytest.fixture(scope="module")
def client(stage: Checkout) -> Iterator[EndpointClient]:
    with EndpointClient(stage=stage.stage, endpoint="math") as client:
        yield client


def instances() -> dict[str, int]:
    """Return the number of instances of each type, {} while the endpoint is not in service."""
    described = boto3.client("sagemaker").describe_endpoint(EndpointName=ENDPOINT)
    (variant,) = described["ProductionVariants"]
    if described["EndpointStatus"] != "InService":
        return {}
    pools: list[Any] = variant["InstancePools"]
    return {pool["InstanceType"]: pool["CurrentInstanceCount"] for pool in pools}


def test_endpoint_falls_back_to_the_second_type(client: EndpointClient) -> None:
    assert instances() == {FIRST_TYPE: 0, SECOND_TYPE: 1}
    assert predict(client) == 14


def test_endpoint_scales_by_concurrency(client: EndpointClient) -> None:
    with call_on_threads(lambda: predict(client), thread_count=4):
        eventually(lambda: instances() == {FIRST_TYPE: 0, SECOND_TYPE: 2})
    eventually(lambda: instances() == {FIRST_TYPE: 0, SECOND_TYPE: 1})  # without calls
    cloudwatch: Any = boto3.client("cloudwatch")
    by_type = [{"Name": "InstanceType", "Value": SECOND_TYPE}, {"Name": "EndpointName"}]
    metrics = cloudwatch.list_metrics(Dimensions=by_type)["Metrics"]
    assert {"Invocations", "ConcurrentRequestsPerModel", "CPUUtilization"} <= {
        metric["MetricName"] for metric in metrics
    }


def test_deploy_without_capacity_keeps_the_instances(
    stage: Checkout, client: EndpointClient
) -> None:
    stage.edit(
        "stages/pooled.yaml", f"{FIRST_TYPE}, {SECOND_TYPE}]", f"{FIRST_TYPE}, {THIRD_TYPE}]"
    )
    stage.edit("stages/pooled.yaml", f"{SECOND_TYPE}: 1", f"{THIRD_TYPE}: 1")
    assert NO_CAPACITY in "".join(stage.deploy(code=1).split())
    assert instances() == {FIRST_TYPE: 0, SECOND_TYPE: 1}
    assert predict(client) == 14
