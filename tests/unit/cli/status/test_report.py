"""Tests of the data of `tritonsm status`, with fake AWS answers."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from botocore.exceptions import ClientError

from cli.status.report import (
    Alarm,
    CatalogModel,
    Report,
    SuspendedScaling,
    read_report,
)
from delivery.errors import NO_CAPACITY
from tests.unit.delivery.preflight.conftest import Aws, denied, error

NIGHT = "prod-night-g5-xlarge"
"""An endpoint of inference components in the stack prod-night."""
NOW = datetime(2026, 11, 22, 10, 6, 30, tzinfo=UTC)


@pytest.fixture
def aws(aws: Aws) -> Aws:
    """Return an account with one endpoint of one variant."""
    aws.answers = {
        "sagemaker.ListEndpoints": {"Endpoints": [_summary("prod-text")]},
        "sagemaker.DescribeEndpoint": lambda request: _description(request["EndpointName"]),
        "dynamodb.ListTables": {"TableNames": []},
        "sts.GetCallerIdentity": {"Account": "111122223333"},
        "dynamodb.Query": {"Items": []},
        "dynamodb.Scan": {"Items": []},
        "dynamodb.BatchGetItem": {"Responses": {}},
        "cloudwatch.DescribeAlarms": {"MetricAlarms": []},
        "application-autoscaling.DescribeScalableTargets": {"ScalableTargets": []},
        "cloudformation.DescribeStacks": error("ValidationError"),
        "cloudformation.GetTemplate": error("ValidationError"),
        "cloudformation.ListStackResources": {"StackResourceSummaries": []},
    }
    return aws


def _summary(name: str) -> dict[str, Any]:
    return {
        "EndpointName": name,
        "EndpointArn": f"arn:aws:sagemaker:us-east-1:111122223333:endpoint/{name}",
        "CreationTime": NOW,
        "LastModifiedTime": NOW,
        "EndpointStatus": "InService",
    }


def _description(name: str) -> dict[str, Any]:
    variant = {
        "VariantName": "AllTraffic",
        "CurrentWeight": 1.0,
        "CurrentInstanceCount": 2,
        "DesiredInstanceCount": 3,
    }
    return {**_summary(name), "EndpointConfigName": name, "ProductionVariants": [variant]}


@pytest.mark.parametrize(
    ("instances", "status", "is_shown"),
    [(2, "InService", True), (3, "InService", False), (3, "Failed", True)],
)
def test_lack_of_capacity_is_shown_while_instances_lack_or_an_update_failed(
    aws: Aws, instances: int, status: str, is_shown: bool
) -> None:
    """SageMaker keeps the FailureReason of a scale-out that was repeated with success."""
    description = {**_description("prod-text"), "FailureReason": f"{NO_CAPACITY} error."}
    description["ProductionVariants"][0]["CurrentInstanceCount"] = instances
    description["EndpointStatus"] = status
    aws.answers["sagemaker.DescribeEndpoint"] = description
    (endpoint,) = _report(aws).endpoints
    assert bool(endpoint.reason) == is_shown


def _alarm(name: str, state: str = "ALARM") -> dict[str, Any]:
    return {
        "AlarmName": name,
        "AlarmDescription": f"critical: {name}",
        "StateValue": state,
        "StateReason": "Because.",
        "StateTransitionedTimestamp": NOW,
    }


def _report(aws: Aws, stage: str | None = "prod") -> Report:
    return read_report(aws.session, stage, ["dev", "prod", "prod-eu"])


def test_report_has_only_resources_of_the_stage(aws: Aws) -> None:
    """The names of the stage prod-eu begin with "prod-" too."""
    summaries = [_summary(name) for name in ("my-prod-text", "prod-eu-text", "prod-text")]
    aws.answers["sagemaker.ListEndpoints"] = {"Endpoints": summaries}
    alarms = [_alarm("prod-eu-text-1"), _alarm("prod-text-1")]
    aws.answers["cloudwatch.DescribeAlarms"] = {"MetricAlarms": alarms}
    report = _report(aws)
    assert [endpoint.name for endpoint in report.endpoints] == ["prod-text"]
    assert [alarm.name for alarm in report.alarms] == ["prod-text-1"]
    assert aws.requests("sagemaker.ListEndpoints")[0]["NameContains"] == "prod-"
    assert aws.requests("dynamodb.Scan")[0]["TableName"] == "triton-catalog-prod"


def test_ok_alarms_and_scaling_alarms_are_omitted(aws: Aws) -> None:
    scaling = _alarm("TargetTracking-endpoint/prod-text/variant/AllTraffic-AlarmLow-1")
    unknown = _alarm("prod-c", "INSUFFICIENT_DATA")
    alarms = [_alarm("prod-a", "OK"), _alarm("prod-b"), unknown, scaling]
    aws.answers["cloudwatch.DescribeAlarms"] = {"MetricAlarms": alarms}
    assert _report(aws, None).alarms == [
        Alarm("prod-b", "ALARM", NOW, "critical: prod-b", "Because."),
        Alarm("prod-c", "INSUFFICIENT_DATA", NOW, "critical: prod-c", "Because."),
    ]


def _target(resource: str, dimension: str, **suspended: bool) -> dict[str, Any]:
    return {
        "ServiceNamespace": "sagemaker",
        "ResourceId": resource,
        "ScalableDimension": f"sagemaker:{dimension}",
        "MinCapacity": 1,
        "MaxCapacity": 4,
        "RoleARN": "arn:aws:iam::111122223333:role/scaling",
        "CreationTime": NOW,
        "SuspendedState": suspended,
    }


def test_suspended_scaling_is_that_of_the_stage(aws: Aws) -> None:
    variant, copies = "variant:DesiredInstanceCount", "inference-component:DesiredCopyCount"
    out = {"DynamicScalingOutSuspended": True}
    aws.answers["application-autoscaling.DescribeScalableTargets"] = {
        "ScalableTargets": [
            _target("endpoint/prod-a/variant/A", variant, DynamicScalingOutSuspended=False),
            _target("endpoint/prod-a/variant/B", variant, ScheduledScalingSuspended=True, **out),
            _target("endpoint/prod-eu-a/variant/A", variant, **out),
            _target(f"inference-component/{NIGHT}-bert", copies, DynamicScalingInSuspended=True),
        ]
    }
    assert _report(aws).suspended_scaling == [
        SuspendedScaling("prod-a", "B", ["scale-out", "schedules"]),
        SuspendedScaling(f"{NIGHT}-bert", None, ["scale-in"]),
    ]


def test_models_are_those_of_valid_catalog_entries(aws: Aws) -> None:
    entry = {**ENTRY, "version": "1", "target_model": "minilm-1.tar.gz"}
    night = {**entry, "model": "bert", "endpoint": NIGHT, "target_model": None}
    texts = {"text#broken": "9999", "text#other": "{", "text#minilm": json.dumps(entry)}
    texts["night#bert"] = json.dumps({**night, "inference_component": f"{NIGHT}-bert"})
    aws.answers["dynamodb.Scan"] = _items(texts)
    aws.answers["sagemaker.DescribeInferenceComponent"] = denied("sagemaker:Describe")
    assert _report(aws).models == [
        CatalogModel(NIGHT, "bert", "1", None, "prod-night", f"{NIGHT}-bert"),
        CatalogModel("prod-text", "minilm", "1", "minilm-1.tar.gz", "prod-text"),
    ]


def _items(texts: dict[str, str]) -> dict[str, Any]:
    """Return the answer of Query, Scan or BatchGetItem with current items: key -> text."""
    items = [
        {
            "model_key": {"S": key},
            "endpoint": {"S": key.partition("#")[0]},
            "revision": {"N": "0"},
            "latest": {"N": "1"},
            "entry": {"S": text},
        }
        for key, text in texts.items()
    ]
    return {"Items": items, "Count": len(items)}


def test_denied_sections_are_listed(aws: Aws) -> None:
    aws.answers["cloudwatch.DescribeAlarms"] = error("AccessDenied", operation="DescribeAlarms")
    aws.answers["dynamodb.Scan"] = denied("dynamodb:Scan")
    action = "application-autoscaling:DescribeScalableTargets"
    aws.answers["application-autoscaling.DescribeScalableTargets"] = denied(action)
    report = _report(aws)
    assert [endpoint.name for endpoint in report.endpoints] == ["prod-text"]
    assert report.denied == [
        "models: no permission (dynamodb:Scan)",
        f"suspended scaling: no permission ({action})",
        "alarms: no permission (DescribeAlarms)",
    ]


def test_error_other_than_denied_access_is_raised(aws: Aws) -> None:
    aws.answers["cloudwatch.DescribeAlarms"] = error("InternalServiceFault")
    with pytest.raises(ClientError, match="InternalServiceFault"):
        _report(aws)


ENTRY = {
    "model": "minilm",
    "version": "a",
    "endpoint": "prod-text",
    "target_model": "minilm-a.tar.gz",
    "signature": {},
}
