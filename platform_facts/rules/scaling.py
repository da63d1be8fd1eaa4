"""Rules about instance counts of a variant, and the policies that scale them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from platform_facts import InstanceType
from platform_facts.rules.monitoring import INSTANCES, INVOCATIONS, dimension_list
from platform_facts.rules.ranges import SCALING_API
from platform_facts.rules.rule import Violation, rule
from platform_facts.rules.variants import GUIDE

SCALING_TARGET_SHARE = 0.5
"""Share of the request rate of a load test at which to scale: new instances take minutes to start.

Source: developer guide, endpoint-scaling-loadtest.
"""


@dataclass(frozen=True)
class Utilization:
    """A utilization of instances as target of scaling: the `metric` is the sum over all `unit`s.

    `policy` is the name of the scaling policy, `count` the number of units of an instance.
    """

    policy: str
    metric: str
    unit: str
    count: Callable[[InstanceType], int]


UTILIZATIONS = {
    "gpu_percent": Utilization("Gpu", "GPUUtilization", "GPU", lambda kind: kind.gpu_count),
    "cpu_percent": Utilization("Cpu", "CPUUtilization", "vCPU", lambda kind: kind.vcpus),
}
"""Utilizations by their keys in a stage file. Source: developer guide, monitoring-cloudwatch."""
SCALING_TARGETS = ("max_rps", "concurrency", *UTILIZATIONS)
"""Keys of the target-tracking metrics in a stage file."""


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


@rule("scaling.*_percent", "developer guide, monitoring-cloudwatch: the metric is a sum")
def _check_utilization(unit: str, counts: Mapping[str, int]) -> str | None:
    """All instance types have the same number of the GPUs or vCPUs of the target, and one."""
    if missing := [name for name, count in counts.items() if not count]:
        return f"{', '.join(missing)} has no {unit}: remove it"
    if len(set(counts.values())) == 1:
        return None
    counts_text = ", ".join(f"{name} has {count}" for name, count in counts.items())
    return (
        f"the metric is a sum over {unit}s, and {counts_text}: write max_rps or concurrency instead"
    )


def check_utilization(key: str, types: Sequence[InstanceType]) -> list[Violation]:
    """Return the violation of a target of utilization on instance types of one endpoint."""
    utilization = UTILIZATIONS[key]
    counts = {kind.name: utilization.count(kind) for kind in types}
    return _check_utilization.at("scaling", key)(utilization.unit, counts)


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


def target_tracking(
    metric: str, value: float, dimensions: Mapping[str, str], cooldowns: Mapping[str, float]
) -> dict[str, Any]:
    """Return CloudFormation's configuration of a policy that keeps `metric` at `value`.

    `metric` is a predefined type or a metric of instances. `cooldowns` replace the defaults, which
    are longer for utilization, because new instances are busy while they start.
    """
    if metric.startswith("SageMaker"):
        specification = {"PredefinedMetricSpecification": {"PredefinedMetricType": metric}}
        return _tracking(specification, value, cooldowns)
    customized = {
        "Dimensions": dimension_list(dimensions),
        "MetricName": metric,
        "Namespace": INSTANCES,
        "Statistic": "Average",
        "Unit": "Percent",
    }
    defaults = {"ScaleInCooldown": 600, "ScaleOutCooldown": 300}
    return _tracking(
        {"CustomizedMetricSpecification": customized}, value, {**defaults, **cooldowns}
    )


def concurrency_tracking(
    targets: Mapping[str, float], dimensions: Mapping[str, str], cooldowns: Mapping[str, float]
) -> dict[str, Any]:
    """Return the configuration that keeps instances of each type at the type's target concurrency.

    `targets` maps instance types to requests in progress on an instance. The metric is the average
    of concurrency / target over the instance types with data, the types with instances. The
    example of the developer guide (realtime-endpoints-heterogeneous) divides by the number of all
    types, so that a fleet of only one type could never reach the target. Not tested on AWS.
    """
    ids = {name: f"type{number}" for number, name in enumerate(targets)}
    queries: list[dict[str, Any]] = [
        {
            "Id": ids[name],
            "MetricStat": {
                "Metric": {
                    "Dimensions": dimension_list({**dimensions, "InstanceType": name}),
                    "MetricName": "ConcurrentRequestsPerModel",
                    "Namespace": INVOCATIONS,
                },
                "Stat": "Average",
            },
            "ReturnData": False,
        }
        for name in targets
    ]
    shares = "+".join(f"FILL({ids[name]},0)/{target:g}" for name, target in targets.items())
    running = "+".join(f"IF(FILL({ids[name]},-1)>=0,1,0)" for name in targets)
    share = {"Id": "share", "Expression": f"({shares})/({running})", "ReturnData": True}
    customized = {"CustomizedMetricSpecification": {"Metrics": [*queries, share]}}
    return _tracking(customized, 1, cooldowns)


def _tracking(
    specification: dict[str, Any], value: float, cooldowns: Mapping[str, float]
) -> dict[str, Any]:
    defaults = {"ScaleInCooldown": 300, "ScaleOutCooldown": 60}
    return {**specification, **defaults, **cooldowns, "TargetValue": value}
