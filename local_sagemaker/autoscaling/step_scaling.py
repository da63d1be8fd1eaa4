"""Step scaling: the capacity that a policy adds while one of its alarms is in ALARM.

Source: the Application Auto Scaling user guide, "Step scaling policies", and the API reference of
StepScalingPolicyConfiguration.
"""

import math
from collections.abc import Mapping

from local_sagemaker.autoscaling.alarms import AlarmState
from local_sagemaker.autoscaling.targets import Record
from local_sagemaker.errors import invalid

STEP_SCALING = "StepScaling"
STEP_CONFIGURATION = "StepScalingPolicyConfiguration"


def check_step_policy(policy: Record) -> None:
    """Raise `ApiError` if a step scaling policy is incomplete or not emulated."""
    configuration = policy.get(STEP_CONFIGURATION)
    if configuration is None:
        raise invalid(f"A policy of type {STEP_SCALING} needs a {STEP_CONFIGURATION}.")
    if configuration.get("AdjustmentType") != "ChangeInCapacity":
        raise invalid(
            "The local SageMaker supports step scaling only with AdjustmentType ChangeInCapacity."
        )
    if not configuration.get("StepAdjustments"):
        raise invalid("Specify at least one step adjustment.")  # no source


def step_adjustment(policy: Record, states: Mapping[str, AlarmState]) -> tuple[int, str]:
    """Return the capacity change of a policy and the alarm that causes the change, or 0 and "".

    The step is chosen by the breach: the alarm's latest data point minus its threshold.
    """
    for name, alarm in states.items():
        if alarm.in_alarm and alarm.points and policy["PolicyARN"] in alarm.actions:
            breach = alarm.points[-1] - alarm.threshold
            for step in policy[STEP_CONFIGURATION]["StepAdjustments"]:
                lower = step.get("MetricIntervalLowerBound", -math.inf)
                if lower <= breach < step.get("MetricIntervalUpperBound", math.inf):
                    return int(step["ScalingAdjustment"]), name
    return 0, ""
