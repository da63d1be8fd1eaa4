"""Step scaling: the capacity that a policy adds while one of its alarms is in ALARM.

Source: the Application Auto Scaling user guide, "Step scaling policies", and the API reference of
StepScalingPolicyConfiguration.
"""

import math
from collections.abc import Mapping

from local_sagemaker.autoscaling.alarms import AlarmState
from local_sagemaker.autoscaling.targets import STEP_CONFIGURATION, Record


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
