"""Rules about instance counts of a variant."""

from collections.abc import Collection

from platform_facts import InstanceType
from platform_facts.rules.ranges import SCALING_API, SCALING_TARGETS
from platform_facts.rules.rule import rule
from platform_facts.rules.variants import GUIDE


@rule("scaling.max_count", f"{SCALING_API}RegisterScalableTarget.html, MaxCapacity")
def limits(least: int, most: int) -> str | None:
    """The largest number of instances, of a schedule too, is no less than the smallest."""
    if most >= least:
        return None
    return f"{most} is less than the smallest number of instances, {least}: write {least} or more"


@rule("instance_count", "our choice: Application Auto Scaling would change it at once")
def count_within_limits(count: int, least: int, most: int) -> str | None:
    """The first number of instances is within the limits of scaling."""
    if most < least or least <= count <= most:
        return None
    return f"{count} is outside the scaling limits: write {least} to {most}"


@rule("scaling", "our choice: without, nothing would ever scale")
def something_to_scale_by(targets: Collection[str], schedules: Collection[object]) -> str | None:
    """Scaling has a target or a schedule."""
    if targets or schedules:
        return None
    return f"nothing to scale by: write {', '.join(SCALING_TARGETS)} or schedules"


@rule("scaling.gpu_percent", "platform_facts/instances.toml")
def utilization_of_a_gpu(percent: float | None, instance_type: InstanceType) -> str | None:
    """GPU utilisation is measured on an instance type with a GPU."""
    if percent is None or instance_type.gpu:
        return None
    return f"{instance_type.name} has no GPU: remove it"


@rule(
    "scaling.concurrency",
    f'{GUIDE}multi-model-endpoints-autoscaling.html: metrics "at one-minute granularity"; '
    "concurrency is measured every ten seconds",
)
def concurrency_of_one_model(concurrency: object) -> str | None:
    """Concurrency is measured of single-model hosting."""
    if concurrency is None:
        return None
    return (
        "AWS documents no such metric of multi-model endpoints: scale by requests (max_rps), or "
        "host a single model"
    )
