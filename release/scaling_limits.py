"""Capacity limits of variants and inference components, from the scaling in their template."""

from release.schedules import WeeklyLimits, weekly_limits
from release.templates import Template, references, resources

SCALABLE_TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"


def scaling_limits(
    template: Template, resource_id: str, count: int
) -> tuple[str | None, WeeklyLimits]:
    """Return the logical id of a resource's scalable target, and its limits.

    Without a scalable target, return None and `count` as both limits.
    """
    for logical_id, target in resources(template, SCALABLE_TARGET):
        if target["ResourceId"] == resource_id:
            return logical_id, weekly_limits(target)
    return None, WeeklyLimits(count, count, count, count)


def has_scale_from_zero_alarm(template: Template, component: str, target: str | None) -> bool:
    """Return whether an alarm starts a copy of a component after a single failed call.

    The alarm's action is a step scaling policy of the scalable target with the logical id `target`.
    Source: developer guide, endpoint-auto-scaling-zero-instances, whose example alarm needs more
    than one failed call.
    """
    policies = {
        logical_id
        for logical_id, policy in resources(template, "AWS::ApplicationAutoScaling::ScalingPolicy")
        if policy.get("PolicyType") == "StepScaling"
        and target in list(references(policy.get("ScalingTargetId")))
    }
    return any(
        alarm.get("MetricName") == "NoCapacityInvocationFailures"
        and {"Name": "InferenceComponentName", "Value": component} in alarm.get("Dimensions", ())
        and float(alarm.get("Threshold", 0)) <= ("OrEqual" in str(alarm.get("ComparisonOperator")))
        and not policies.isdisjoint(references(alarm.get("AlarmActions")))
        for _, alarm in resources(template, "AWS::CloudWatch::Alarm")
    )
