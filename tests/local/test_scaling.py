"""Scaling of a deployed stage: by load, by GPU metrics and by schedule.

The tests depend on each other, in the order of this file.
"""

import threading
import time
from pathlib import Path
from typing import Any

import boto3
import pytest

from endpoint_client import EndpointClient
from local_sagemaker.settings import SPEED
from local_sagemaker.tests.support.endpoint_caller import processes, run_in_threads
from local_sagemaker.tests.support.running import LocalSageMaker
from local_sagemaker.tests.support.tiny_models import times, write_python
from local_sagemaker.tests.support.waiting import eventually
from tests.local.conftest import Checkout
from tests.local.invoking import call_on_threads, predict

pytestmark = pytest.mark.drill

STAGE_FILE = Path(__file__).with_name("scaled.yaml")
ENDPOINT, VARIANT, GPU = "scaled-math", "AllTraffic", "scaled-gpu"
MAX_PROCESSES = 2  # per variant on this machine
SETTINGS = {SPEED: "120"}


@pytest.fixture(scope="module")
def stage(checkout: Checkout) -> Checkout:
    write_python(checkout.path / "models" / "times", times(2))
    stage = checkout.write_stage("scaled", STAGE_FILE.read_text())
    stage.deploy()
    return stage


def instance_count(endpoint: str = ENDPOINT) -> int:
    """Return the number of instances of an endpoint, 0 while it is not in service."""
    description = boto3.client("sagemaker").describe_endpoint(EndpointName=endpoint)
    if description["EndpointStatus"] != "InService":
        return 0
    return int(description["ProductionVariants"][0]["CurrentInstanceCount"])


def triton_count(aws: LocalSageMaker, endpoint: str = ENDPOINT) -> int:
    return len(processes(aws.folder.instances / endpoint, "tritonserver"))


def activities() -> list[dict[str, Any]]:
    """Return the scaling activities, newest first."""
    scaling: Any = boto3.client("application-autoscaling")
    response = scaling.describe_scaling_activities(ServiceNamespace="sagemaker")
    return list(response["ScalingActivities"])


def test_instances_follow_the_load(stage: Checkout) -> None:
    client = EndpointClient(stage="scaled", endpoint="math")
    assert (instance_count(), triton_count(stage.aws)) == (1, 1)
    with call_on_threads(lambda: predict(client), thread_count=4):
        eventually(lambda: instance_count() == 3)
    assert triton_count(stage.aws) == MAX_PROCESSES
    first = activities()[-1]
    assert first["Cause"].startswith(f"monitor alarm TargetTracking-endpoint/{ENDPOINT}/variant/")
    assert "-AlarmHigh-" in first["Cause"]
    eventually(lambda: activities()[-1]["StatusCode"] == "Successful")

    eventually(lambda: instance_count() == 1)  # without calls
    eventually(lambda: triton_count(stage.aws) == 1)
    latest = activities()[0]
    assert latest["Description"] == "Setting desired instance count to 1."
    assert "-AlarmLow-" in latest["Cause"]


def test_metrics_of_calls_are_in_cloudwatch(stage: Checkout) -> None:
    cloudwatch: Any = boto3.client("cloudwatch")

    def names(namespace: str) -> set[str]:
        dimensions = [{"Name": "EndpointName", "Value": ENDPOINT}]
        metrics = cloudwatch.list_metrics(Namespace=namespace, Dimensions=dimensions)["Metrics"]
        return {metric["MetricName"] for metric in metrics}

    eventually(
        lambda: (
            names("AWS/SageMaker")
            >= {
                *("Invocations", "InvocationsPerInstance", "ModelLatency", "OverheadLatency"),
                *("Invocation4XXErrors", "Invocation5XXErrors", "InvocationModelErrors"),
                *("ModelLoadingWaitTime", "ModelDownloadingTime", "ModelLoadingTime"),
                *("ModelCacheHit", "ConcurrentRequestsPerModel"),
            }
        )
    )
    eventually(
        lambda: (
            names("/aws/sagemaker/Endpoints")
            == {"CPUUtilization", "MemoryUtilization", "DiskUtilization", "LoadedModelCount"}
        )
    )


def publish_gpu_utilization(percent: int) -> None:
    cloudwatch: Any = boto3.client("cloudwatch")
    dimensions = [{"Name": "EndpointName", "Value": GPU}, {"Name": "VariantName", "Value": VARIANT}]
    data = {"MetricName": "GPUUtilization", "Dimensions": dimensions, "Unit": "Percent"}
    cloudwatch.put_metric_data(
        Namespace="/aws/sagemaker/Endpoints", MetricData=[{**data, "Value": percent}]
    )
    time.sleep(0.05)  # a period takes half a second


def test_gpu_policy_follows_published_metrics(stage: Checkout) -> None:
    assert (instance_count(GPU), triton_count(stage.aws, GPU)) == (1, 1)
    with call_on_threads(lambda: publish_gpu_utilization(95), thread_count=1):
        eventually(lambda: instance_count(GPU) == 2)
    assert triton_count(stage.aws, GPU) == 2
    with call_on_threads(lambda: publish_gpu_utilization(20), thread_count=1):
        eventually(lambda: instance_count(GPU) == 1)
    eventually(lambda: triton_count(stage.aws, GPU) == 1)


def set_minimum_every_minute(endpoint: str, minimum: int) -> None:
    scaling: Any = boto3.client("application-autoscaling")
    scaling.put_scheduled_action(
        ServiceNamespace="sagemaker",
        ResourceId=f"endpoint/{endpoint}/variant/{VARIANT}",
        ScalableDimension="sagemaker:variant:DesiredInstanceCount",
        ScheduledActionName="opening",
        Schedule="rate(1 minute)",
        ScalableTargetAction={"MinCapacity": minimum},
    )


def test_minimum_and_instance_count_are_deployed_together(stage: Checkout) -> None:
    assert instance_count() == 1
    higher = "instance_count: 2\n    scaling: { min_count: 2, max_count: 3, max_rps: 0.1 }"
    stage.edit(
        "stages/scaled.yaml", "scaling: { min_count: 1, max_count: 3, max_rps: 0.1 }", higher
    )
    stage.deploy()
    eventually(lambda: instance_count() == 2)


def test_scaling_during_a_canary_does_not_fail_the_update(stage: Checkout) -> None:
    sagemaker: Any = boto3.client("sagemaker")
    deploy_ended = threading.Event()

    def is_updating() -> bool:
        return "PendingDeploymentSummary" in sagemaker.describe_endpoint(EndpointName=ENDPOINT)

    def scale_during_the_update() -> None:
        eventually(lambda: is_updating() or deploy_ended.is_set())
        set_minimum_every_minute(ENDPOINT, 3)

    canary = "    update: { strategy: canary, percent: 50, wait_seconds: 600 }\n  gpu:"
    stage.edit("stages/scaled.yaml", "  gpu:", canary)
    stage.edit(
        "stages/scaled.yaml", "instance_count: 2", "instance_count: 2\n    cache_models: false"
    )
    with run_in_threads(scale_during_the_update):
        try:
            stage.deploy()
        finally:
            deploy_ended.set()
    eventually(lambda: instance_count() == 3)
    causes = [
        activity["StatusMessage"] for activity in activities() if activity["StatusCode"] == "Failed"
    ]
    assert any("the endpoint is Updating" in cause for cause in causes)
