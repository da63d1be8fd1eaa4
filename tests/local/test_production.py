"""A production-like stage: its settings, an update in place and its deletion."""

from pathlib import Path
from typing import Any

import boto3
import pytest

from endpoint_client import EndpointClient
from local_sagemaker.tests.support.tiny_models import times, write_ensemble, write_python
from tests.local.conftest import Checkout
from tests.local.invoking import call_repeatedly, predict

STAGE_FILE = Path(__file__).with_name("prodlike.yaml")
SEARCH, MATH = "prodlike-search", "prodlike-math"


@pytest.fixture(scope="module")
def production(checkout: Checkout) -> Checkout:
    write_python(checkout.path / "models" / "times", times(2))
    write_ensemble(checkout.path / "models" / "chain")
    production = checkout.write_stage("prodlike", STAGE_FILE.read_text())
    production.deploy()
    return production


@pytest.fixture(scope="module")
def client(production: Checkout) -> EndpointClient:
    return EndpointClient(stage="prodlike", endpoint="search", catalog_ttl=0)


def test_single_model_endpoint_needs_no_target_model(client: EndpointClient) -> None:
    assert predict(client, "chain") == 15


def test_capture_schedules_and_tags_are_deployed(production: Checkout) -> None:
    endpoint = boto3.client("sagemaker").describe_endpoint(EndpointName=MATH)
    capture = endpoint["DataCaptureConfig"]
    assert (capture["EnableCapture"], capture["CurrentSamplingPercentage"]) == (True, 100)
    assert capture["DestinationS3Uri"].endswith("/math")
    tags = boto3.client("sagemaker").list_tags(ResourceArn=endpoint["EndpointArn"])["Tags"]
    assert {"Key": "team", "Value": "search"} in tags
    scaling = boto3.client("application-autoscaling")
    (night,) = scaling.describe_scheduled_actions(ServiceNamespace="sagemaker")["ScheduledActions"]
    assert night["ScalableTargetAction"] == {"MinCapacity": 2, "MaxCapacity": 3}


def test_update_keeps_counts_without_a_failed_call(
    production: Checkout, client: EndpointClient
) -> None:
    sagemaker = boto3.client("sagemaker")
    before = sagemaker.describe_endpoint(EndpointName=SEARCH)
    models = {model["ModelName"] for model in sagemaker.list_models()["Models"]}
    sagemaker.update_endpoint_weights_and_capacities(
        EndpointName=SEARCH,
        DesiredWeightsAndCapacities=[{"VariantName": "Standard", "DesiredInstanceCount": 5}],
    )
    production.edit("stages/prodlike.yaml", "weight: 9", "weight: 4")
    production.edit("stages/prodlike.yaml", "ml.m5.2xlarge", "ml.m5.4xlarge")
    production.edit("stages/prodlike.yaml", "critical: 0.05", "critical: 0.2")

    with call_repeatedly(lambda: predict(client, "chain")):
        production.deploy()

    after = sagemaker.describe_endpoint(EndpointName=SEARCH)
    assert after["CreationTime"] == before["CreationTime"]
    assert _variants(after) == {"Standard": (5, 4.0), "Large": (2, 1.0)}
    configs = sagemaker.list_endpoint_configs()["EndpointConfigs"]
    names = {config["EndpointConfigName"] for config in configs}
    assert after["EndpointConfigName"] in names
    assert before["EndpointConfigName"] not in names
    assert len({model["ModelName"] for model in sagemaker.list_models()["Models"]}) == len(models)
    thresholds = {
        alarm["Threshold"]
        for alarm in boto3.client("cloudwatch").describe_alarms()["MetricAlarms"]
        if alarm.get("AlarmDescription", "").startswith(
            f"critical: share of 5xx answers of {SEARCH}"
        )
    }
    assert thresholds == {0.2}


def test_destroy_removes_the_stage(production: Checkout) -> None:
    production.cdk("destroy", "--all", "--force", "--app", "cdk.out")
    scaling = boto3.client("application-autoscaling")
    assert scaling.describe_scalable_targets(ServiceNamespace="sagemaker")["ScalableTargets"] == []
    assert boto3.client("ec2").describe_network_interfaces()["NetworkInterfaces"] == []


def _variants(endpoint: Any) -> dict[str, tuple[int, float]]:
    return {
        variant["VariantName"]: (variant["CurrentInstanceCount"], variant["CurrentWeight"])
        for variant in endpoint["ProductionVariants"]
    }
