"""Checks of Application Auto Scaling requests, which supplement those of botocore's model."""

from typing import Any

from local_sagemaker.autoscaling.step_scaling import STEP_CONFIGURATION, STEP_SCALING
from local_sagemaker.autoscaling.store import RegisteredTarget
from local_sagemaker.autoscaling.targets import Record
from local_sagemaker.errors import invalid

TRACKING_CONFIGURATION = "TargetTrackingScalingPolicyConfiguration"


def check_limits(target: Record) -> None:
    """Raise `ApiError` unless a target has both limits, and the minimum is not above the maximum.

    Both are "required when registering a new scalable target" (API reference).
    """
    for member in ("MinCapacity", "MaxCapacity"):
        if member not in target:
            raise invalid(f"A new scalable target needs {member}.")
    if target["MinCapacity"] > target["MaxCapacity"]:
        # Before the resource is searched: badmintoncryer/cdk-preflight, which asked AWS.
        raise invalid("Maximum capacity cannot be less than minimum capacity")


def check_policy(target: RegisteredTarget, policy: Record) -> None:
    """Raise `ApiError` without a configuration, or for a metric that another policy tracks.

    Source of the second message: gravitational/teleport, lib/backend/dynamo.
    """
    is_stepped = policy.get("PolicyType") == STEP_SCALING
    member = STEP_CONFIGURATION if is_stepped else TRACKING_CONFIGURATION
    if member not in policy:
        raise invalid(f"A policy of type {policy.get('PolicyType')} needs a {member}.")
    if is_stepped:
        return
    other_policies = (
        other for name, other in target.policies.items() if name != policy["PolicyName"]
    )
    if any(_metric(other) == _metric(policy) for other in other_policies):
        raise invalid(
            "Only one TargetTrackingScaling policy for a given metric specification is allowed."
        )


def _metric(policy: Record) -> tuple[Any, ...]:
    configuration = policy.get(TRACKING_CONFIGURATION, {})
    members = ("PredefinedMetricSpecification", "CustomizedMetricSpecification")
    return tuple(configuration.get(member) for member in members)


def check_action(action: Record) -> None:
    """Raise `ApiError` for missing members of a scheduled action; the messages have no source."""
    for member in ("Schedule", "ScalableTargetAction"):
        if member not in action:
            raise invalid(f"A new scheduled action needs {member}.")
