"""An endpoint `text` with one variant `only`, alarms, and a time, that tests set."""

from typing import Any

import pytest

from local_sagemaker.autoscaling.alarms import AlarmState
from local_sagemaker.autoscaling.service import AutoScaling
from local_sagemaker.errors import ApiError
from local_sagemaker.happenings import Happening

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


def custom(metric: str, target: float = 60.0, **more: Any) -> Record:
    """Return the configuration of a policy on a metric of somebody's own."""
    metric_specification = {"MetricName": metric, "Namespace": "Own", "Statistic": "Average"}
    return {
        "TargetValue": target,
        "CustomizedMetricSpecification": metric_specification,
        **more,
    }


def policy(name: str, configuration: Record) -> Record:
    return {**POLICY, "PolicyName": name, "TargetTrackingScalingPolicyConfiguration": configuration}


class Variants:
    """Stands in for SageMaker's control plane: it is asked for a capacity, and `settle` has it."""

    def __init__(self) -> None:
        self.status = "InService"
        self.count = self.desired = 2
        self.desired_counts: list[int] = []
        self.refusal: ApiError | None = None
        self.gone = False

    def describe_endpoint(self, request: Record) -> Record:
        if self.gone or request["EndpointName"] != "text":
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
        self._ask(request["DesiredRuntimeConfig"]["CopyCount"])
        return {}

    def _ask(self, desired: int) -> None:
        if self.refusal:
            raise self.refusal
        self.desired_counts.append(desired)
        self.desired, self.status = desired, "Updating"

    def update_endpoint_weights_and_capacities(self, request: Record) -> Record:
        (change,) = request["DesiredWeightsAndCapacities"]
        self._ask(change["DesiredInstanceCount"])
        return {}

    def settle(self) -> None:
        """Reach what was asked for."""
        self.count, self.status = self.desired, "InService"

    def roll_back(self) -> None:
        """Be as before."""
        self.desired, self.status = self.count, "InService"


class CloudWatch:
    """Stands in for boto3's client: keeps alarms, whose states tests set."""

    def __init__(self) -> None:
        self.alarms: dict[str, Record] = {}

    def put_metric_alarm(self, **alarm: Any) -> None:
        before = self.alarms.get(alarm["AlarmName"], {"StateValue": "INSUFFICIENT_DATA"})
        self.alarms[alarm["AlarmName"]] = {**before, **alarm}

    def delete_alarms(self, *, AlarmNames: list[str]) -> None:  # noqa: N803
        for name in AlarmNames:
            del self.alarms[name]

    def get_paginator(self, operation: str) -> "CloudWatch":
        assert operation == "describe_alarms"
        return self

    def paginate(self) -> list[Record]:
        alarms = list(self.alarms.values())
        return [{"MetricAlarms": alarms[:1]}, {"MetricAlarms": alarms[1:]}]

    def kind(self, kind: str, metric: str = "InvocationsPerInstance") -> Record:
        """Return the one alarm of a kind on a metric."""
        (result,) = (
            each
            for name, each in self.alarms.items()
            if f"-{kind}-" in name and each["MetricName"] == metric
        )
        return result


class Time:
    """Seconds since 1970, as tests have them."""

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
def happenings() -> list[Happening]:
    """What Application Auto Scaling did."""
    return []


@pytest.fixture
def scaling(
    variants: Variants, cloudwatch: CloudWatch, time: Time, happenings: list[Happening]
) -> AutoScaling:
    """Application Auto Scaling at AWS's own speed; tests call its `scaler.tick`."""
    hosting: Any = variants
    return AutoScaling(hosting, cloudwatch, speed=1, clock=time, tell=happenings.append)
