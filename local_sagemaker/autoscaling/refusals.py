"""Requests that Application Auto Scaling refuses. Each raises `ApiError`."""

from typing import Any

from local_sagemaker.autoscaling.store import Target
from local_sagemaker.autoscaling.targets import Record
from local_sagemaker.errors import ApiError


def refuse_limits(target: Record) -> None:
    """Both are "required when registering a new scalable target", says the API reference."""
    missing = [it for it in ("MinCapacity", "MaxCapacity") if it not in target]
    if missing:
        raise ApiError("ValidationException", f"A new scalable target needs {missing[0]}.")
    if target["MinCapacity"] > target["MaxCapacity"]:  # no source
        raise ApiError(
            "ValidationException", "Minimum capacity cannot be greater than maximum capacity."
        )


def refuse_policy(request: Record) -> None:
    """What is not emulated: policies that do not track a target."""
    if request.get("PolicyType", "TargetTrackingScaling") != "TargetTrackingScaling":
        raise ApiError(
            "ValidationException",
            f"the local SageMaker has no {request['PolicyType']}: not emulated",
        )


def refuse_metric_of_another(target: Target, name: str, request: Record) -> None:
    """The words: gravitational/teleport, lib/backend/dynamo."""

    def metric(policy: Record) -> tuple[Any, Any]:
        configuration = policy["TargetTrackingScalingPolicyConfiguration"]
        kinds = ("PredefinedMetricSpecification", "CustomizedMetricSpecification")
        predefined, customized = (configuration.get(it) for it in kinds)
        return predefined, customized

    others = (it for other, it in target.policies.items() if other != name)
    if any(metric(it) == metric(request) for it in others):
        raise ApiError(
            "ValidationException",
            "Only one TargetTrackingScaling policy for a given metric specification is allowed.",
        )


def refuse_action(action: Record) -> None:
    """What a new scheduled action needs; no source was found for the words."""
    for member in ("Schedule", "ScalableTargetAction"):
        if member not in action:
            raise ApiError("ValidationException", f"A new scheduled action needs {member}.")
    limits = action["ScalableTargetAction"]
    if not limits:
        raise ApiError("ValidationException", "Specify a minimum or maximum capacity.")
    if limits.get("MinCapacity", 0) > limits.get("MaxCapacity", 2**31):
        raise ApiError(
            "ValidationException", "Minimum capacity cannot be greater than maximum capacity."
        )
