"""The CloudWatch alarms that Application Auto Scaling creates for target tracking policies.

Source of the names: aws/amazon-sagemaker-operator-for-k8s
("TargetTracking-endpoint/NAME/variant/VARIANT-AlarmHigh-"). Source of the settings: the alarms for
a target of 70 in the output of `terraform import`: above 70 in 3 of 3 periods, below 63 in 15 of
15, missing data as missing, and the policy's ARN in the description.
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
EVALUATION_PERIODS = {HIGH: 3, LOW: 15}
LOW_EVALUATION_SECONDS = 900
LOW_THRESHOLD_SHARE = 0.9
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
"""The members of a PutMetricAlarm request that select the metric."""


class AlarmState(NamedTuple):
    """State of an alarm.

    `points` are the last evaluated data points, the oldest first; `actions` are the ARNs of the
    alarm actions.
    """

    in_alarm: bool
    points: list[float]
    threshold: float = 0.0
    actions: tuple[str, ...] = ()


def alarm_requests(key: TargetKey, policy: Record) -> list[Record]:
    """Return the PutMetricAlarm requests of a policy. Raise `ApiError` for an invalid metric.

    The alarm actions end with `:createdBy/UUID`, as in published alarms of DynamoDB and ECS. That
    the alarms of a changed policy keep their names has no source.
    """
    configuration = policy["TargetTrackingScalingPolicyConfiguration"]
    target = configuration["TargetValue"]
    existing_names = alarm_names(policy)
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
            "Threshold": target if kind == HIGH else target * LOW_THRESHOLD_SHARE,
            "EvaluationPeriods": EVALUATION_PERIODS[kind],
            "TreatMissingData": "missing",
            **_alarm_metric(key, configuration, kind),
            **_periods(key, configuration, kind),
        }
        for kind in (HIGH, LOW)
    ]


def alarm_names(policy: Record) -> dict[str, str]:
    """Return a policy's alarm names by kind, AlarmHigh or AlarmLow; names end with KIND-UUID."""
    return {alarm["AlarmName"].rsplit("-", 6)[1]: alarm["AlarmName"] for alarm in policy["Alarms"]}


def _alarm_metric(key: TargetKey, configuration: Record, kind: str) -> Metric:
    """Return the metric of the alarm of a kind. Raise `ApiError`."""
    predefined: Any = configuration.get("PredefinedMetricSpecification")
    customized = configuration.get("CustomizedMetricSpecification")
    if customized is not None:
        if queries := customized.get("Metrics"):
            return {"Metrics": _with_periods(queries)}
        return {"Dimensions": [], "Period": MINUTE, **customized}
    metric_type = predefined["PredefinedMetricType"]
    prefix = f"SageMaker{'InferenceComponent' if key.component else 'Variant'}"
    if metric_type not in PREDEFINED or not metric_type.startswith(prefix):
        raise invalid(f"PredefinedMetricType {metric_type} cannot be used for {key.dimension}.")
    name, statistic, seconds = PREDEFINED[metric_type]
    return {
        "Dimensions": [
            {"Name": name, "Value": value} for name, value in key.resource_names.items()
        ],
        "MetricName": name,
        "Namespace": "AWS/SageMaker",
        "Period": seconds if kind == HIGH else MINUTE,
        "Statistic": statistic,
    }


def _periods(key: TargetKey, configuration: Record, kind: str) -> Record:
    """Return Period and EvaluationPeriods of a component's AlarmLow; other alarms have defaults.

    On AWS, the alarm of a high-resolution metric has 90 periods of 10 s (huggingface/skills,
    hf-cloud-sagemaker-production-defaults; aws-samples/sagemaker-genai-hosting-examples,
    03-features/autoscaling).
    """
    metric_type = configuration.get("PredefinedMetricSpecification", {}).get("PredefinedMetricType")
    if kind == HIGH or not key.component or metric_type not in PREDEFINED:
        return {}
    _, _, seconds = PREDEFINED[metric_type]
    return {"Period": seconds, "EvaluationPeriods": LOW_EVALUATION_SECONDS // seconds}


def _with_periods(queries: Iterable[Record]) -> list[Record]:
    """Return the metric queries of a policy with a period, by default a minute. Raise `ApiError`.

    The default has no source.
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


def alarms_member(requests: Iterable[Record]) -> list[Record]:
    """Return the member Alarms of a policy, for the alarms of PutMetricAlarm requests."""
    arn = f"arn:aws:cloudwatch:{REGION}:{ACCOUNT}:alarm"
    names = [request["AlarmName"] for request in requests]
    return [{"AlarmName": name, "AlarmARN": f"{arn}:{name}"} for name in names]


def alarm_states(cloudwatch: Any) -> Mapping[str, AlarmState]:
    """Return the states of the alarms whose actions include a scaling policy, by alarm name."""
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
