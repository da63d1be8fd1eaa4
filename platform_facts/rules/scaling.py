"""Rules about instance counts of a variant."""

from collections.abc import Collection

from platform_facts import InstanceType
from platform_facts.rules.ranges import SCALING_API, SCALING_TARGETS
from platform_facts.rules.rule import rule
from platform_facts.rules.variants import GUIDE

SCALING_TARGET_SHARE = 0.5
"""Share of the request rate of a load test at which to scale: new instances take minutes to start.

Source: developer guide, endpoint-scaling-loadtest.
"""


@rule("scaling.max_count", f"{SCALING_API}RegisterScalableTarget.html, MaxCapacity")
def check_count_limits(minimum: int, maximum: int) -> str | None:
    """`max_count` is not less than `min_count`, also in each schedule."""
    if maximum >= minimum:
        return None
    return f"{maximum} is less than the minimum, {minimum}: write {minimum} or more"


@rule("instance_count", "our choice: Application Auto Scaling would change another count at once")
def check_instance_count(count: int, minimum: int, maximum: int) -> str | None:
    """`instance_count` is between `scaling.min_count` and `scaling.max_count`."""
    if maximum < minimum or minimum <= count <= maximum:
        return None
    return f"{count} is outside the scaling limits: write {minimum} to {maximum}"


@rule("scaling", "our choice: without target or schedule, nothing would scale")
def check_scaling_target(targets: Collection[str], schedules: Collection[object]) -> str | None:
    """`scaling` has a target metric or `schedules`."""
    if targets or schedules:
        return None
    return f"missing target metric: write {', '.join(SCALING_TARGETS)} or schedules"


@rule("scaling.gpu_percent", "platform_facts/instances.toml")
def check_gpu_scaling(percent: float | None, instance_type: InstanceType) -> str | None:
    """`gpu_percent` requires an instance type with a GPU."""
    if percent is None or instance_type.gpu:
        return None
    return f"{instance_type.name} has no GPU: remove it"


@rule(
    "scaling.concurrency",
    f'{GUIDE}multi-model-endpoints-autoscaling.html: metrics "at one-minute granularity"; '
    "concurrency is measured every ten seconds",
)
def check_no_concurrency_scaling(concurrency: object) -> str | None:
    """`concurrency` is not supported with `hosting: multi-model`."""
    if concurrency is None:
        return None
    return (
        "AWS documents no concurrency metric for multi-model endpoints: scale by requests "
        "(max_rps), or host a single model"
    )
