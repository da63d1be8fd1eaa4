"""The fake endpoint `text` with the variant `only`, fake alarms and a fake clock."""

from types import SimpleNamespace
from typing import Any

import pytest

from local_sagemaker.autoscaling.alarms import AlarmState
from local_sagemaker.autoscaling.service import AutoScaling
from local_sagemaker.dashboard_events import DashboardEvent
from local_sagemaker.errors import ApiError

Record = dict[str, Any]

KEY = {
    "ServiceNamespace": "sagemaker",
    "ResourceId": "endpoint/text/variant/only",
    "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
}
TARGET: Record = {**KEY, "MinCapacity": 2, "MaxCapacity": 6}
CONFIGURATION: Record = {
    "TargetValue": 60.0,
    "PredefinedMetricSpecification": {
        "PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"
    },
}
POLICY: Record = {
    **KEY,
    "PolicyName": "calls",
    "PolicyType": "TargetTrackingScaling",
    "TargetTrackingScalingPolicyConfiguration": CONFIGURATION,
}


COMPONENT = {
    "ServiceNamespace": "sagemaker",
    "ResourceId": "inference-component/times",
    "ScalableDimension": "sagemaker:inference-component:DesiredCopyCount",
}
STEPS: Record = {
    **KEY,
    "PolicyName": "wake",
    "PolicyType": "StepScaling",
    "StepScalingPolicyConfiguration": {
        "AdjustmentType": "ChangeInCapacity",
        "MetricAggregationType": "Maximum",
        "Cooldown": 60,
        "StepAdjustments": [{"MetricIntervalLowerBound": 0.0, "ScalingAdjustment": 1}],
    },
}


def tracking(metric_type: str, target: float = 1.0) -> Record:
    """Return the configuration of a policy on a predefined metric."""
    specification = {"PredefinedMetricType": metric_type}
    return {"TargetValue": target, "PredefinedMetricSpecification": specification}


def custom(metric: str, target: float = 60.0, **members: Any) -> Record:
    """Return the configuration of a policy on a custom metric."""
    metric_specification = {"MetricName": metric, "Namespace": "Own", "Statistic": "Average"}
    return {
        "TargetValue": target,
        "CustomizedMetricSpecification": metric_specification,
        **members,
    }


def policy(name: str, configuration: Record) -> Record:
    return {**POLICY, "PolicyName": name, "TargetTrackingScalingPolicyConfiguration": configuration}


class Variants:
    """A fake control plane of SageMaker; `settle` completes a requested change of capacity."""

    def __init__(self) -> None:
        self.status = "InService"
        self.count = self.desired = 2
        self.desired_counts: list[int] = []
        self.error: ApiError | None = None
        self.deleted = False
        config = {"ProductionVariants": [{"VariantName": "only", "InstanceType": "ml.m5.large"}]}
        plan = SimpleNamespace(config=config)
        self.endpoints_by_name = {"text": SimpleNamespace(plan=plan)}

    def describe_endpoint(self, request: Record) -> Record:
        if self.deleted or request["EndpointName"] != "text":
            raise ApiError(
                "ValidationException", f'Could not find endpoint "{request["EndpointName"]}".'
            )
        variant = {
            "VariantName": "only",
            "CurrentInstanceCount": self.count,
            "DesiredInstanceCount": self.desired,
        }
        return {"EndpointStatus": self.status, "ProductionVariants": [variant]}

    def describe_inference_component(self, request: Record) -> Record:
        if request["InferenceComponentName"] != "times":
            raise ApiError("ValidationException", "Could not find inference component.")
        return {
            "InferenceComponentStatus": self.status,
            "RuntimeConfig": {"DesiredCopyCount": self.desired},
        }

    def update_inference_component_runtime_config(self, request: Record) -> Record:
        self._request_capacity(request["DesiredRuntimeConfig"]["CopyCount"])
        return {}

    def _request_capacity(self, desired: int) -> None:
        if self.error:
            raise self.error
        self.desired_counts.append(desired)
        self.desired, self.status = desired, "Updating"

    def update_endpoint_weights_and_capacities(self, request: Record) -> Record:
        (change,) = request["DesiredWeightsAndCapacities"]
        self._request_capacity(change["DesiredInstanceCount"])
        return {}

    def settle(self) -> None:
        """Complete the change."""
        self.count, self.status = self.desired, "InService"

    def roll_back(self) -> None:
        """Undo the change."""
        self.desired, self.status = self.count, "InService"


class CloudWatch:
    """A fake client of CloudWatch; tests set the states of its alarms."""

    def __init__(self) -> None:
        self.alarms: dict[str, Record] = {}

    def put_metric_alarm(self, **alarm: Any) -> None:
        old_alarm = self.alarms.get(alarm["AlarmName"], {"StateValue": "INSUFFICIENT_DATA"})
        self.alarms[alarm["AlarmName"]] = {**old_alarm, **alarm}

    def delete_alarms(self, *, AlarmNames: list[str]) -> None:  # noqa: N803
        for name in AlarmNames:
            del self.alarms[name]

    def get_paginator(self, operation: str) -> "CloudWatch":
        assert operation == "describe_alarms"
        return self

    def paginate(self) -> list[Record]:
        alarms = list(self.alarms.values())
        return [{"MetricAlarms": alarms[:1]}, {"MetricAlarms": alarms[1:]}]

    def alarm_of_kind(self, kind: str, metric: str = "InvocationsPerInstance") -> Record:
        """Return the only alarm of a kind on a metric."""
        (result,) = (
            alarm
            for name, alarm in self.alarms.items()
            if f"-{kind}-" in name and alarm["MetricName"] == metric
        )
        return result


class Time:
    """A fake clock in seconds since 1970."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def state(*points: float) -> AlarmState:
    return AlarmState(in_alarm=True, points=list(points))


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def variants() -> Variants:
    return Variants()


@pytest.fixture
def cloudwatch() -> CloudWatch:
    return CloudWatch()


@pytest.fixture
def dashboard_events() -> list[DashboardEvent]:
    """The recorded events of Application Auto Scaling."""
    return []


@pytest.fixture
def scaling(
    variants: Variants, cloudwatch: CloudWatch, time: Time, dashboard_events: list[DashboardEvent]
) -> AutoScaling:
    """Application Auto Scaling at AWS's own speed; tests call its `scaler.tick`."""
    hosting: Any = variants
    return AutoScaling(hosting, cloudwatch, speed=1, clock=time, report=dashboard_events.append)
