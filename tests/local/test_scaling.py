"""Scaling: by real load on the app's own template, and by a metric of GPUs."""

import shutil
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import numpy as np
import pytest

from cli.status.report import read_report
from endpoint_client import EndpointClient
from local_sagemaker.settings import SPEED
from local_sagemaker.tests.support.asking import meanwhile, processes
from local_sagemaker.tests.support.running import LocalSageMaker
from local_sagemaker.tests.support.tiny_models import TIMES, write_python
from local_sagemaker.tests.support.waiting import eventually
from tests.local.conftest import Checkout

STAGE_FILE = Path(__file__).with_name("scaled.yaml")
ENDPOINT, VARIANT, GPU = "scaled-math", "AllTraffic", "scaled-gpu"
PROCESSES = 2  # of a variant, on this machine


@pytest.fixture(scope="module")
def speed() -> Iterator[None]:
    """AWS's minutes have half a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SPEED, "120")
        yield


@pytest.fixture(scope="module")
def scaled(speed: None, checkout: Checkout) -> Checkout:
    shutil.copy2(STAGE_FILE, checkout.path / "stages")
    write_python(checkout.path / "models" / "times", TIMES.replace("FACTOR", "2"))
    scaled = replace(checkout, stage="scaled")
    deployed = scaled.deploy()
    assert deployed.returncode == 0, deployed.stdout
    return scaled


@contextmanager
def calling(call: Callable[[], object], *, by: int) -> Iterator[None]:
    """Call on threads, `by` of them; fail if a single call failed."""
    stop, failures = threading.Event(), list[BaseException]()

    def loop() -> None:
        try:
            while not stop.is_set():
                call()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=loop) for _ in range(by)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    assert failures == []


def count(endpoint: str = ENDPOINT) -> int:
    """Return the instances that an endpoint in service has, 0 while it changes."""
    result = boto3.client("sagemaker").describe_endpoint(EndpointName=endpoint)
    if result["EndpointStatus"] != "InService":
        return 0
    return int(result["ProductionVariants"][0]["CurrentInstanceCount"])


def tritons(aws: LocalSageMaker, endpoint: str = ENDPOINT) -> int:
    return len(processes(aws.folder.instances / endpoint, "tritonserver"))


def activities() -> list[dict[str, Any]]:
    scaling: Any = boto3.client("application-autoscaling")
    result = scaling.describe_scaling_activities(ServiceNamespace="sagemaker")
    return list(result["ScalingActivities"])


def test_tritons_come_with_the_load_and_go_with_it(scaled: Checkout) -> None:
    client = EndpointClient(stage="scaled", endpoint="math")

    def ask() -> None:
        assert client.invoke("times", {"X": np.array([[7]], np.float32)})["Y"][0, 0] == 14

    assert (count(), tritons(scaled.aws)) == (1, 1)
    with calling(ask, by=4):
        eventually(lambda: count() == 3)
    assert tritons(scaled.aws) == PROCESSES
    out = activities()[-1]
    assert out["Cause"].startswith(f"monitor alarm TargetTracking-endpoint/{ENDPOINT}/variant/")
    assert "-AlarmHigh-" in out["Cause"]
    eventually(lambda: activities()[-1]["StatusCode"] == "Successful")

    eventually(lambda: count() == 1)  # nobody calls
    assert tritons(scaled.aws) == 1
    latest = activities()[0]
    assert latest["Description"] == "Setting desired instance count to 1."
    assert "-AlarmLow-" in latest["Cause"]


def test_calls_are_measured_as_cloudwatch_has_them(scaled: Checkout) -> None:
    cloudwatch: Any = boto3.client("cloudwatch")

    def names(namespace: str) -> set[str]:
        place = [{"Name": "EndpointName", "Value": ENDPOINT}]
        result = cloudwatch.list_metrics(Namespace=namespace, Dimensions=place)["Metrics"]
        return {each["MetricName"] for each in result}

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


def test_what_containers_and_builds_write_is_in_cloudwatch_logs(scaled: Checkout) -> None:
    logs: Any = boto3.client("logs")

    def lines(group: str, words: str) -> list[dict[str, Any]]:
        events = logs.filter_log_events(logGroupName=group)["events"]
        return [event for event in events if words in event["message"]]

    group = f"/aws/sagemaker/Endpoints/{ENDPOINT}"
    (line, *_) = eventually(lambda: lines(group, "successfully loaded"))
    assert line["logStreamName"].startswith(f"{VARIANT}/i-")
    groups = logs.describe_log_groups()["logGroups"]
    assert any(lines(each["logGroupName"], "Phase complete: BUILD") for each in groups)


def test_status_reads_the_local_sagemaker(scaled: Checkout) -> None:
    report = read_report(scaled.aws.session("status"), "scaled", ["scaled"])
    assert report.denied == []
    endpoint = next(endpoint for endpoint in report.endpoints if endpoint.name == ENDPOINT)
    (variant,) = endpoint.variants
    assert (endpoint.status, variant.instances) == ("InService", 1)
    assert ENDPOINT in {model.endpoint for model in report.models}


def publish_gpu_utilization(percent: int) -> None:
    cloudwatch: Any = boto3.client("cloudwatch")
    dimensions = [
        {"Name": "EndpointName", "Value": GPU},
        {"Name": "VariantName", "Value": VARIANT},
    ]
    data = {"MetricName": "GPUUtilization", "Dimensions": dimensions, "Unit": "Percent"}
    cloudwatch.put_metric_data(
        Namespace="/aws/sagemaker/Endpoints", MetricData=[{**data, "Value": percent}]
    )
    time.sleep(0.05)  # as often as needed: a period has half a second


def test_a_gpu_policy_acts_on_what_is_published_of_gpus(scaled: Checkout) -> None:
    assert (count(GPU), tritons(scaled.aws, GPU)) == (1, 1)
    with calling(lambda: publish_gpu_utilization(95), by=1):
        eventually(lambda: count(GPU) == 2)
    assert tritons(scaled.aws, GPU) == 2
    with calling(lambda: publish_gpu_utilization(20), by=1):
        eventually(lambda: count(GPU) == 1)
    assert tritons(scaled.aws, GPU) == 1


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


def test_a_scheduled_action_brings_instances_before_anybody_calls(scaled: Checkout) -> None:
    set_minimum_every_minute(GPU, 2)
    eventually(lambda: count(GPU) == 2)
    assert tritons(scaled.aws, GPU) == 2
    assert "minimum capacity was set to 2" in [activity["Cause"] for activity in activities()]


def test_a_higher_minimum_is_deployed_together_with_the_instance_count(scaled: Checkout) -> None:
    assert count() == 1
    higher = "instance_count: 2\n    scaling: { min_count: 2, max_count: 3, max_rps: 0.1 }"
    scaled.edit(
        "stages/scaled.yaml", "scaling: { min_count: 1, max_count: 3, max_rps: 0.1 }", higher
    )
    deployed = scaled.deploy()
    assert deployed.returncode == 0, deployed.stdout
    eventually(lambda: count() == 2)


def test_scaling_that_waited_for_a_canary_is_no_failed_update(scaled: Checkout) -> None:
    sagemaker: Any = boto3.client("sagemaker")
    ended = threading.Event()

    def is_updating() -> bool:
        return "PendingDeploymentSummary" in sagemaker.describe_endpoint(EndpointName=ENDPOINT)

    def scale_during_the_update() -> None:
        eventually(lambda: is_updating() or ended.is_set())
        set_minimum_every_minute(ENDPOINT, 3)

    canary = "    update: { strategy: canary, percent: 50, wait_seconds: 60 }\n  gpu:"
    scaled.edit("stages/scaled.yaml", "  gpu:", canary)
    scaled.edit(
        "stages/scaled.yaml", "instance_count: 2", "instance_count: 2\n    cache_models: false"
    )
    with meanwhile(scale_during_the_update):
        try:
            deployed = scaled.deploy()
        finally:
            ended.set()
    assert deployed.returncode == 0, deployed.stdout
    eventually(lambda: count() == 3)
    causes = [
        activity["StatusMessage"] for activity in activities() if activity["StatusCode"] == "Failed"
    ]
    assert any("the endpoint is Updating" in cause for cause in causes)
