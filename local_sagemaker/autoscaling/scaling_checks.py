"""Validation of Application Auto Scaling requests beyond botocore's model. Raises `ApiError`."""

from typing import Any

from local_sagemaker.autoscaling.step_scaling import STEP_SCALING, check_steps
from local_sagemaker.autoscaling.store import RegisteredTarget
from local_sagemaker.autoscaling.targets import Record
from local_sagemaker.errors import invalid


def check_limits(target: Record) -> None:
    """Raise unless both limits are given, in order.

    Both are "required when registering a new scalable target" (API reference).
    """
    for member in ("MinCapacity", "MaxCapacity"):
        if member not in target:
            raise invalid(f"A new scalable target needs {member}.")
    _refuse_order(target)


def check_policy(target: RegisteredTarget, policy: Record) -> None:
    """Raise for an unsupported policy type, or a metric that another policy tracks already.

    Source of the second message: gravitational/teleport, lib/backend/dynamo.
    """
    kind = policy.get("PolicyType", "TargetTrackingScaling")
    if kind == STEP_SCALING:
        check_steps(policy)
        return
    if kind != "TargetTrackingScaling":
        raise invalid(f"The local SageMaker does not support policies of type {kind}.")
    others = (other for name, other in target.policies.items() if name != policy["PolicyName"])
    if any(_metric(other) == _metric(policy) for other in others):
        raise invalid(
            "Only one TargetTrackingScaling policy for a given metric specification is allowed."
        )


def _metric(policy: Record) -> tuple[Any, ...]:
    configuration = policy.get("TargetTrackingScalingPolicyConfiguration", {})
    kinds = ("PredefinedMetricSpecification", "CustomizedMetricSpecification")
    return tuple(configuration.get(kind) for kind in kinds)


def check_action(action: Record) -> None:
    """Raise for missing members of a new scheduled action; the messages have no source."""
    for member in ("Schedule", "ScalableTargetAction"):
        if member not in action:
            raise invalid(f"A new scheduled action needs {member}.")
    if not action["ScalableTargetAction"]:
        raise invalid("Specify a minimum or maximum capacity.")
    _refuse_order(action["ScalableTargetAction"])


def _refuse_order(limits: Record) -> None:
    if limits.get("MinCapacity", 0) > limits.get("MaxCapacity", 2**31):  # no source
        raise invalid("Minimum capacity cannot be greater than maximum capacity.")
