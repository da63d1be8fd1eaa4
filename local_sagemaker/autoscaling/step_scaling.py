"""Step scaling: how much capacity a policy adds while an alarm that names it is in ALARM.

Source: the Application Auto Scaling user guide, "Step scaling policies", and the API reference of
StepScalingPolicyConfiguration.
"""

import math
from collections.abc import Iterable

from local_sagemaker.autoscaling.alarms import AlarmState
from local_sagemaker.autoscaling.targets import Record
from local_sagemaker.errors import invalid

STEP_SCALING = "StepScaling"
CONFIGURATION = "StepScalingPolicyConfiguration"


def refuse_steps(policy: Record) -> None:
    """Raise `ApiError` for what a step scaling policy lacks, and for what is not emulated."""
    configuration = policy.get(CONFIGURATION)
    if configuration is None:
        raise invalid(f"A policy of type {STEP_SCALING} needs a {CONFIGURATION}.")
    if configuration.get("AdjustmentType") != "ChangeInCapacity":
        raise invalid("The local SageMaker has step scaling with AdjustmentType ChangeInCapacity.")
    if not configuration.get("StepAdjustments"):
        raise invalid("Specify at least one step adjustment.")  # no source


def adjustment(policy: Record, alarms: Iterable[AlarmState]) -> int:
    """Return the change that a policy makes: that of the first of its alarms in ALARM, or 0.

    The breach decides which step it is: the alarm's latest data point, less its threshold.
    """
    for alarm in alarms:
        if alarm.in_alarm and alarm.points and policy["PolicyARN"] in alarm.actions:
            breach = alarm.points[-1] - alarm.threshold
            return next(
                (
                    int(step["ScalingAdjustment"])
                    for step in policy[CONFIGURATION]["StepAdjustments"]
                    if step.get("MetricIntervalLowerBound", -math.inf) <= breach
                    and breach < step.get("MetricIntervalUpperBound", math.inf)
                ),
                0,
            )
    return 0
