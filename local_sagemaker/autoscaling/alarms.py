"""CloudWatch alarms that Application Auto Scaling creates for a target tracking policy.

Source of the names: aws/amazon-sagemaker-operator-for-k8s
("TargetTracking-endpoint/NAME/variant/VARIANT-AlarmHigh-"). Source of the settings: alarms of a
target of 70, as `terraform import` printed them: above 70 in 3 of 3 periods, below 63 in 15 of 15,
missing data as missing, and the policy's ARN in the description.
"""

import json
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from local_sagemaker.autoscaling.targets import Record, TargetKey
from local_sagemaker.cloudwatch.expressions import Expression
from local_sagemaker.environment import ACCOUNT, REGION
from local_sagemaker.errors import invalid

HIGH, LOW = "AlarmHigh", "AlarmLow"
PERIODS = {HIGH: 3, LOW: 15}
LOW_SECONDS = 900
SHARE_OF_LOW = 0.9
"""Threshold of AlarmLow as a share of the target: 63 for 70, 72 for 80."""

PREFIX = "TargetTracking-"
MINUTE = 60

PREDEFINED = {
    "SageMakerVariantInvocationsPerInstance": ("InvocationsPerInstance", "Sum", MINUTE),
    "SageMakerVariantConcurrentRequestsPerModelHighResolution": (
        "ConcurrentRequestsPerModel", "Maximum", 10
    ),
    "SageMakerInferenceComponentInvocationsPerCopy": ("InvocationsPerCopy", "Sum", MINUTE),
    "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution": (
        "ConcurrentRequestsPerCopy", "Maximum", 10
    ),
}  # fmt: skip
"""Predefined metric type -> metric name, statistic, and period of AlarmHigh in seconds.

The statistic of concurrent requests: "Valid statistics: Min, Max" (SageMaker's developer guide,
monitoring-cloudwatch). It "scales in at the same speed as it would for standard metrics"
(endpoint-auto-scaling-add-code-define)."""

Metric = dict[str, Any]
"""The metric's members of a PutMetricAlarm request."""


class AlarmState(NamedTuple):
    """State of an alarm; `points` are the last evaluated data points, the oldest first.

    `actions` are the ARNs of its alarm actions.
    """

    in_alarm: bool
    points: list[float]
    threshold: float = 0.0
    actions: tuple[str, ...] = ()


def alarm_requests(key: TargetKey, policy: Record) -> list[Record]:
    """Return the PutMetricAlarm requests of a policy.

    Their actions end with `:createdBy/UUID`, as in published alarms of DynamoDB and ECS. Without a
    source: the alarms of a changed policy keep their names.
    """
    configuration = policy["TargetTrackingScalingPolicyConfiguration"]
    target = configuration["TargetValue"]
    existing_names = alarms_of(policy)
    arn = policy["PolicyARN"]
    action = f"{arn}:createdBy/{uuid.uuid5(uuid.NAMESPACE_URL, arn)}"
    return [
        {
            "AlarmName": existing_names.get(kind)
            or f"{PREFIX}{key.resource}-{kind}-{uuid.uuid4()}",
            "AlarmDescription": (
                f"DO NOT EDIT OR DELETE. For TargetTrackingScaling policy {action}."
            ),
            "AlarmActions": [action],
            "ComparisonOperator": ("GreaterThanThreshold" if kind == HIGH else "LessThanThreshold"),
            "Threshold": target if kind == HIGH else target * SHARE_OF_LOW,
            "EvaluationPeriods": PERIODS[kind],
            "TreatMissingData": "missing",
            **metric(key, configuration, kind),
            **_periods(key, configuration, kind),
        }
        for kind in (HIGH, LOW)
    ]


def alarms_of(policy: Record) -> dict[str, str]:
    """Return a policy's alarm names by kind, AlarmHigh or AlarmLow; names end with KIND-UUID."""
    return {alarm["AlarmName"].rsplit("-", 6)[1]: alarm["AlarmName"] for alarm in policy["Alarms"]}


def metric(key: TargetKey, configuration: Record, kind: str) -> Metric:
    """Return the metric of an alarm of this kind. Raise `ApiError`."""
    predefined: Any = configuration.get("PredefinedMetricSpecification")
    customized = configuration.get("CustomizedMetricSpecification")
    if (predefined is None) == (customized is None):
        raise invalid(
            "Exactly one of PredefinedMetricSpecification and CustomizedMetricSpecification must "
            "be specified."
        )
    if customized is not None:
        if queries := customized.get("Metrics"):
            return {"Metrics": _by_minutes(queries)}
        for member in ("MetricName", "Namespace", "Statistic"):
            if member not in customized:
                raise invalid(f"CustomizedMetricSpecification needs Metrics, or {member}.")
        return {"Dimensions": [], "Period": MINUTE, **customized}
    kind_of_metric = predefined["PredefinedMetricType"]
    scaled = "InferenceComponent" if key.component else "Variant"
    if kind_of_metric not in PREDEFINED or not kind_of_metric.startswith(f"SageMaker{scaled}"):
        raise invalid(f"PredefinedMetricType {kind_of_metric} cannot be used for {key.dimension}.")
    name, statistic, seconds = PREDEFINED[kind_of_metric]
    return {
        "Dimensions": [{"Name": name, "Value": value} for name, value in key.names.items()],
        "MetricName": name,
        "Namespace": "AWS/SageMaker",
        "Period": seconds if kind == HIGH else MINUTE,
        "Statistic": statistic,
    }


def _periods(key: TargetKey, configuration: Record, kind: str) -> Record:
    """Return Period and EvaluationPeriods of AlarmLow on a component's high-resolution metric.

    On AWS it has 90 periods of 10 s (huggingface/skills, hf-cloud-sagemaker-production-defaults;
    aws-samples/sagemaker-genai-hosting-examples, 03-features/autoscaling).
    """
    metric_type = configuration.get("PredefinedMetricSpecification", {}).get("PredefinedMetricType")
    if kind == HIGH or not key.component or metric_type not in PREDEFINED:
        return {}
    _, _, seconds = PREDEFINED[metric_type]
    return {"Period": seconds, "EvaluationPeriods": LOW_SECONDS // seconds}


def _by_minutes(queries: Iterable[Record]) -> list[Record]:
    """Return the metric queries of a policy with the period of its alarm. Raise `ApiError`.

    A policy has no period; one minute has no source.
    """
    metrics = [
        {**query, "MetricStat": {"Period": MINUTE, **query["MetricStat"]}}
        if "MetricStat" in query
        else query
        for query in queries
    ]
    try:
        Expression.parse(metrics)
    except ValueError as error:
        raise invalid(str(error)) from None
    return metrics


def described(requests: Iterable[Record]) -> list[Record]:
    """Return the member Alarms of a policy."""
    arn = f"arn:aws:cloudwatch:{REGION}:{ACCOUNT}:alarm"
    names = [request["AlarmName"] for request in requests]
    return [{"AlarmName": name, "AlarmARN": f"{arn}:{name}"} for name in names]


def alarm_states(cloudwatch: Any) -> Mapping[str, AlarmState]:
    """Return the alarms whose actions include a scaling policy, by name."""
    pages = cloudwatch.get_paginator("describe_alarms").paginate()
    states = {
        alarm["AlarmName"]: AlarmState(
            alarm["StateValue"] == "ALARM",
            json.loads(alarm.get("StateReasonData") or "{}").get("recentDatapoints", []),
            alarm.get("Threshold", 0.0),
            tuple(alarm.get("AlarmActions", [])),
        )
        for page in pages
        for alarm in page["MetricAlarms"]
    }
    return {
        name: state
        for name, state in states.items()
        if any(":scalingPolicy:" in action for action in state.actions)
    }
