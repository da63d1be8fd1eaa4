"""The alarms that Application Auto Scaling makes for a target tracking policy, and reads.

Their names and settings: of policies on SageMaker's variants as users have shown them
(aws/amazon-sagemaker-operator-for-k8s, "TargetTracking-endpoint/NAME/variant/VARIANT-AlarmHigh-"),
and alarms of a target of 70 as `terraform import` wrote them down: more than 70 in 3 periods of 3,
less than 63 in 15 of 15, missing data as missing, and a description that says whose they are.
"""

import json
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from local_sagemaker.autoscaling.targets import Record, TargetKey
from local_sagemaker.environment import ACCOUNT, REGION
from local_sagemaker.errors import invalid

HIGH, LOW = "AlarmHigh", "AlarmLow"
PERIODS = {HIGH: 3, LOW: 15}
SHARE_OF_LOW = 0.9
"""Of the target, below which it is scaled in: 63 of 70, 72 of 80."""

PREFIX = "TargetTracking-"
MINUTE = 60

Metric = dict[str, Any]
"""Members of a PutMetricAlarm request."""


class AlarmState(NamedTuple):
    """Whether an alarm is in ALARM, and the data that it evaluated last, the oldest first."""

    in_alarm: bool
    points: list[float]


def alarm_requests(key: TargetKey, policy: Record) -> list[Record]:
    """Return the PutMetricAlarm requests of a policy.

    Their actions end with `:createdBy/UUID` as in dumps of DynamoDB's and ECS's alarms. That known
    alarms keep their names, and that there is no AlarmLow where DisableScaleIn is set, has no
    source.
    """
    configuration = policy["TargetTrackingScalingPolicyConfiguration"]
    target = configuration["TargetValue"]
    named = alarms_of(policy)
    arn = policy["PolicyARN"]
    action = f"{arn}:createdBy/{uuid.uuid5(uuid.NAMESPACE_URL, arn)}"
    kinds = [HIGH] if configuration.get("DisableScaleIn") else [HIGH, LOW]
    return [
        {
            "AlarmName": named.get(kind) or f"{PREFIX}{key.resource}-{kind}-{uuid.uuid4()}",
            "AlarmDescription": (
                f"DO NOT EDIT OR DELETE. For TargetTrackingScaling policy {action}."
            ),
            "AlarmActions": [action],
            "ComparisonOperator": ("GreaterThanThreshold" if kind == HIGH else "LessThanThreshold"),
            "Threshold": target if kind == HIGH else target * SHARE_OF_LOW,
            "EvaluationPeriods": PERIODS[kind],
            "TreatMissingData": "missing",
            **metric(key, configuration, kind),
        }
        for kind in kinds
    ]


def alarms_of(policy: Record) -> dict[str, str]:
    """Return the names of a policy's alarms by their kind; a name ends with kind and UUID."""
    return {it["AlarmName"].rsplit("-", 6)[1]: it["AlarmName"] for it in policy["Alarms"]}


def metric(key: TargetKey, configuration: Record, kind: str) -> Metric:
    """Return what an alarm of this kind watches. Raises `ApiError`."""
    predefined = configuration.get("PredefinedMetricSpecification")
    customized = configuration.get("CustomizedMetricSpecification")
    if predefined is not None and customized is None:
        return {**_predefined(predefined["PredefinedMetricType"], kind), **_place(key)}
    if predefined is not None or customized is None:
        raise invalid(
            "Exactly one of PredefinedMetricSpecification and CustomizedMetricSpecification must "
            "be specified."
        )
    missing = [it for it in ("MetricName", "Namespace", "Statistic") if it not in customized]
    if missing:  # a metric of metric math
        raise invalid(
            f"CustomizedMetricSpecification without {missing[0]}: the local SageMaker has no "
            "metric math."
        )
    unit = {"Unit": customized["Unit"]} if "Unit" in customized else {}
    return {
        "MetricName": customized["MetricName"],
        "Namespace": customized["Namespace"],
        "Statistic": customized["Statistic"],
        "Dimensions": customized.get("Dimensions", []),
        "Period": MINUTE,
        **unit,
    }


def _predefined(kind_of_metric: str, kind: str) -> Metric:
    """Return a metric that Application Auto Scaling knows.

    The statistic of concurrent requests: "Valid statistics: Min, Max" (SageMaker's developer guide,
    monitoring-cloudwatch). It is scaled out by periods of 10 seconds, and "scales in at the same
    speed as it would for standard metrics" (endpoint-auto-scaling-add-code-define).
    """
    if kind_of_metric == "SageMakerVariantInvocationsPerInstance":
        return {
            "MetricName": "InvocationsPerInstance",
            "Namespace": "AWS/SageMaker",
            "Statistic": "Sum",
            "Period": MINUTE,
        }
    if kind_of_metric == "SageMakerVariantConcurrentRequestsPerModelHighResolution":
        return {
            "MetricName": "ConcurrentRequestsPerModel",
            "Namespace": "AWS/SageMaker",
            "Statistic": "Maximum",
            "Period": 10 if kind == HIGH else MINUTE,
        }
    raise invalid(
        f"PredefinedMetricType {kind_of_metric} is not of a SageMaker variant's instances."
    )


def _place(key: TargetKey) -> Metric:
    names = {"EndpointName": key.endpoint, "VariantName": key.variant}
    return {"Dimensions": [{"Name": name, "Value": value} for name, value in names.items()]}


def described(requests: Iterable[Record]) -> list[Record]:
    """Return the Alarms of a policy."""
    arn = f"arn:aws:cloudwatch:{REGION}:{ACCOUNT}:alarm"
    names = [it["AlarmName"] for it in requests]
    return [{"AlarmName": name, "AlarmARN": f"{arn}:{name}"} for name in names]


def alarm_states(cloudwatch: Any) -> Mapping[str, AlarmState]:
    """Return the alarms of all policies, by name. `cloudwatch` is boto3's client."""
    pages = cloudwatch.get_paginator("describe_alarms").paginate(AlarmNamePrefix=PREFIX)
    return {
        it["AlarmName"]: AlarmState(
            it["StateValue"] == "ALARM",
            json.loads(it.get("StateReasonData") or "{}").get("recentDatapoints", []),
        )
        for page in pages
        for it in page["MetricAlarms"]
    }
