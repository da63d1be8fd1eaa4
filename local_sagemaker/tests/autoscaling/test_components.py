"""Scaling of an inference component to 0 copies, and back by a step policy."""

from typing import Any

import pytest

from local_sagemaker.autoscaling.alarms import HIGH, LOW
from local_sagemaker.autoscaling.service import AutoScaling
from local_sagemaker.tests.autoscaling.conftest import (
    COMPONENT,
    STEPS,
    CloudWatch,
    Time,
    Variants,
    policy,
    tracking,
)
from local_sagemaker.tests.autoscaling.test_scaler import ScaledTarget

PER_COPY = "SageMakerInferenceComponentInvocationsPerCopy"
CONCURRENT = "SageMakerInferenceComponentConcurrentRequestsPerCopyHighResolution"
TARGET = {**COMPONENT, "MinCapacity": 0, "MaxCapacity": 4}


class ScaledComponent(ScaledTarget):
    """The component `times` with two copies, a target tracking policy and a step policy."""

    def __init__(
        self, scaling: AutoScaling, variants: Variants, cloudwatch: CloudWatch, time: Time
    ) -> None:
        super().__init__(scaling, variants, cloudwatch, time, TARGET)
        scaling.put_scaling_policy({**policy("calls", tracking(PER_COPY, 10.0)), **COMPONENT})

    def put_steps(self, *steps: dict[str, float], threshold: float = 1.0) -> None:
        """Put a step policy, and an alarm with the policy as its action."""
        configuration: Any = STEPS["StepScalingPolicyConfiguration"]
        if steps:
            configuration = {**configuration, "StepAdjustments": list(steps)}
        request = {**STEPS, **COMPONENT, "StepScalingPolicyConfiguration": configuration}
        arn = self.scaling.put_scaling_policy(request)["PolicyARN"]
        self.cloudwatch.put_metric_alarm(
            AlarmName="no-capacity",
            MetricName="NoCapacityInvocationFailures",
            Threshold=threshold,
            AlarmActions=[arn],
        )

    def set_alarm(self, name: str, *points: float) -> None:
        """Set the alarm whose name contains `name` to ALARM, and all others to OK."""
        for alarm_name, alarm in self.cloudwatch.alarms.items():
            alarm["StateValue"] = "ALARM" if name in alarm_name else "OK"
            alarm["StateReasonData"] = f'{{"recentDatapoints": {list(points)}}}'


@pytest.fixture
def scaled_target(
    scaling: AutoScaling, variants: Variants, cloudwatch: CloudWatch, time: Time
) -> ScaledComponent:
    return ScaledComponent(scaling, variants, cloudwatch, time)


def test_step_policy_adds_the_first_copy(scaled_target: ScaledComponent) -> None:
    scaled_target.put_steps()
    scaled_target.variants.count = scaled_target.variants.desired = 0
    scaled_target.set_alarm("no-capacity", 1.0)
    assert scaled_target.tick() == [1]
    assert scaled_target.tick() == [1]  # the component is Updating
    scaled_target.settle()
    assert scaled_target.tick() == [1]  # the cooldown has not ended
    assert scaled_target.tick(60) == [1, 2]
    activity = scaled_target.scaling.describe_scaling_activities({})["ScalingActivities"][-1]
    assert activity["Cause"] == "monitor alarm no-capacity in state ALARM triggered policy wake"
    assert activity["Description"] == "Setting desired copy count to 1."
    assert activity["ResourceId"] == "inference-component/times"


@pytest.mark.parametrize(("value", "copies"), [(1.0, 3), (4.0, 3), (6.0, 4), (0.5, None)])
def test_size_of_the_breach_selects_the_step(
    scaled_target: ScaledComponent, value: float, copies: int | None
) -> None:
    scaled_target.put_steps(
        {"MetricIntervalLowerBound": 0.0, "MetricIntervalUpperBound": 5.0, "ScalingAdjustment": 1},
        {"MetricIntervalLowerBound": 5.0, "ScalingAdjustment": 7},  # above MaxCapacity
    )
    scaled_target.set_alarm("no-capacity", value)
    assert scaled_target.tick() == ([] if copies is None else [copies])


def test_policy_with_the_larger_capacity_decides(scaled_target: ScaledComponent) -> None:
    scaled_target.put_steps()
    for alarm in scaled_target.cloudwatch.alarms.values():
        in_alarm = HIGH in alarm["AlarmName"] or alarm["AlarmName"] == "no-capacity"
        alarm["StateValue"] = "ALARM" if in_alarm else "OK"
        alarm["StateReasonData"] = '{"recentDatapoints": [20.0]}'
    assert scaled_target.tick() == [4]


@pytest.mark.parametrize(
    ("metric_type", "metric", "periods"),
    [
        (PER_COPY, "InvocationsPerCopy", {HIGH: (60, 3), LOW: (60, 15)}),
        (CONCURRENT, "ConcurrentRequestsPerCopy", {HIGH: (10, 3), LOW: (10, 90)}),
    ],
)
def test_alarms_use_the_metrics_of_the_component(
    scaling: AutoScaling,
    cloudwatch: CloudWatch,
    metric_type: str,
    metric: str,
    periods: dict[str, Any],
) -> None:
    scaling.register_scalable_target(TARGET)
    scaling.put_scaling_policy({**policy("calls", tracking(metric_type)), **COMPONENT})
    for alarm_of_kind, expected in periods.items():
        alarm = cloudwatch.alarm_of_kind(alarm_of_kind, metric)
        assert (alarm["Period"], alarm["EvaluationPeriods"]) == expected
        assert alarm["Dimensions"] == [{"Name": "InferenceComponentName", "Value": "times"}]
