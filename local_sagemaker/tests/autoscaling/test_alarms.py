"""Alarms of scaling policies."""

import json
import re
from typing import Any

import pytest

from local_sagemaker.autoscaling.alarms import AlarmState, alarm_requests, alarm_states
from local_sagemaker.autoscaling.targets import TargetKey
from local_sagemaker.tests.autoscaling.conftest import (
    CONFIGURATION,
    KEY,
    CloudWatch,
    custom,
    policy,
)

DIMENSIONS = [{"Name": "EndpointName", "Value": "text"}, {"Name": "VariantName", "Value": "only"}]


def requests(configuration: dict[str, Any]) -> list[dict[str, Any]]:
    policy_record = {**policy("p", configuration), "PolicyARN": "arn:p", "Alarms": []}
    return alarm_requests(TargetKey.from_request(KEY), policy_record)


def test_policy_has_a_high_and_a_low_alarm() -> None:
    high, low = requests(CONFIGURATION)
    for alarm, kind in ((high, "High"), (low, "Low")):
        assert re.fullmatch(
            rf"TargetTracking-endpoint/text/variant/only-Alarm{kind}-[0-9a-f-]{{36}}",
            alarm.pop("AlarmName"),
        )
    (action,) = high["AlarmActions"]
    assert re.fullmatch("arn:p:createdBy/[0-9a-f-]{36}", action)
    common = {
        "AlarmActions": [action],
        "AlarmDescription": f"DO NOT EDIT OR DELETE. For TargetTrackingScaling policy {action}.",
        "Dimensions": DIMENSIONS,
        "MetricName": "InvocationsPerInstance",
        "Namespace": "AWS/SageMaker",
        "Period": 60,
        "Statistic": "Sum",
        "TreatMissingData": "missing",
    }
    assert high == {
        **common,
        "ComparisonOperator": "GreaterThanThreshold",
        "EvaluationPeriods": 3,
        "Threshold": 60,
    }
    assert low == {
        **common,
        "ComparisonOperator": "LessThanThreshold",
        "EvaluationPeriods": 15,
        "Threshold": 54,
    }


def test_concurrent_requests_have_a_high_resolution_alarm() -> None:
    name = "SageMakerVariantConcurrentRequestsPerModelHighResolution"
    configuration = {
        "TargetValue": 5.0,
        "PredefinedMetricSpecification": {"PredefinedMetricType": name},
    }
    high, low = requests(configuration)
    assert (high["Period"], low["Period"]) == (10, 60)
    assert {(alarm["MetricName"], alarm["Statistic"]) for alarm in (high, low)} == {
        ("ConcurrentRequestsPerModel", "Maximum")
    }


def test_metric_math_has_a_period_of_one_minute() -> None:
    stat = {
        "Metric": {"MetricName": "C", "Namespace": "N", "Dimensions": DIMENSIONS},
        "Stat": "Average",
    }
    metric = {"Id": "m", "MetricStat": stat, "ReturnData": False}
    share = {"Id": "share", "Expression": "FILL(m, 0) / 12", "ReturnData": True}
    specification = {"CustomizedMetricSpecification": {"Metrics": [metric, share]}}
    for alarm in requests({"TargetValue": 1.0, **specification}):
        assert alarm["Metrics"] == [{**metric, "MetricStat": {"Period": 60, **stat}}, share]
        assert not alarm.keys() & {"MetricName", "Period", "Statistic"}


def test_custom_metric_reaches_the_alarm() -> None:
    specification = {
        "MetricName": "GPUUtilization",
        "Namespace": "/aws/sagemaker/Endpoints",
        "Statistic": "Average",
        "Dimensions": DIMENSIONS,
        "Unit": "Percent",
    }
    for alarm in requests({"TargetValue": 70.0, "CustomizedMetricSpecification": specification}):
        assert {name: alarm[name] for name in specification} == specification
        assert alarm["Period"] == 60
    assert "Unit" not in requests(custom("Own"))[0]


@pytest.mark.parametrize("data", [None, '{"version": "1.0"}'])
def test_alarm_states_are_read_from_all_pages(data: str | None) -> None:
    cloudwatch = CloudWatch()
    reason = json.dumps({"recentDatapoints": [1.0, 2.0]})
    policy = "arn:aws:autoscaling:us-east-1:000000000000:scalingPolicy:1:resource/sagemaker/e"
    for name, state, messages, action in (
        ("TargetTracking-a", "ALARM", reason, policy),
        ("own", "OK", data, policy),
        ("Other", "ALARM", reason, "arn:aws:sns:us-east-1:000000000000:topic"),
    ):
        cloudwatch.put_metric_alarm(AlarmName=name, Threshold=3.0, AlarmActions=[action])
        cloudwatch.alarms[name]["StateValue"] = state
        if messages:
            cloudwatch.alarms[name]["StateReasonData"] = messages
    assert alarm_states(cloudwatch) == {
        "TargetTracking-a": AlarmState(True, [1.0, 2.0], 3.0, (policy,)),
        "own": AlarmState(False, [], 3.0, (policy,)),
    }
