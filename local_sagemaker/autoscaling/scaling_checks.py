"""Checks of Application Auto Scaling requests, which supplement those of botocore's model."""

from typing import Any

from local_sagemaker.autoscaling.step_scaling import STEP_SCALING, check_step_policy
from local_sagemaker.autoscaling.store import RegisteredTarget
from local_sagemaker.autoscaling.targets import Record
from local_sagemaker.errors import invalid


def check_limits(target: Record) -> None:
    """Raise `ApiError` unless a target has both limits, and the minimum is not above the maximum.

    Both are "required when registering a new scalable target" (API reference).
    """
    for member in ("MinCapacity", "MaxCapacity"):
        if member not in target:
            raise invalid(f"A new scalable target needs {member}.")
    _check_order(target)


def check_policy(target: RegisteredTarget, policy: Record) -> None:
    """Raise `ApiError` for an unsupported type, or a metric that another policy already tracks.

    Source of the second message: gravitational/teleport, lib/backend/dynamo.
    """
    policy_type = policy.get("PolicyType", "TargetTrackingScaling")
    if policy_type == STEP_SCALING:
        check_step_policy(policy)
        return
    if policy_type != "TargetTrackingScaling":
        raise invalid(f"The local SageMaker does not support policies of type {policy_type}.")
    other_policies = (
        other for name, other in target.policies.items() if name != policy["PolicyName"]
    )
    if any(_metric(other) == _metric(policy) for other in other_policies):
        raise invalid(
            "Only one TargetTrackingScaling policy for a given metric specification is allowed."
        )


def _metric(policy: Record) -> tuple[Any, ...]:
    configuration = policy.get("TargetTrackingScalingPolicyConfiguration", {})
    members = ("PredefinedMetricSpecification", "CustomizedMetricSpecification")
    return tuple(configuration.get(member) for member in members)


def check_action(action: Record) -> None:
    """Raise `ApiError` for missing members of a scheduled action; the messages have no source."""
    for member in ("Schedule", "ScalableTargetAction"):
        if member not in action:
            raise invalid(f"A new scheduled action needs {member}.")
    if not action["ScalableTargetAction"]:
        raise invalid("Specify a minimum or maximum capacity.")
    _check_order(action["ScalableTargetAction"])


def _check_order(limits: Record) -> None:
    if limits.get("MinCapacity", 0) > limits.get("MaxCapacity", 2**31):  # no source
        raise invalid("Minimum capacity cannot be greater than maximum capacity.")
