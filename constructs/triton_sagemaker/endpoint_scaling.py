"""How many instances a variant has."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aws_cdk import aws_applicationautoscaling as scaling
from aws_cdk import aws_sagemaker as sagemaker

from constructs import Construct
from triton_sagemaker.endpoint_metrics import EndpointMetrics
from triton_sagemaker.problems import InvalidEndpoint, Problem
from triton_sagemaker.variant import Variant

SERVICE = "sagemaker"
DIMENSION = "sagemaker:variant:DesiredInstanceCount"


@dataclass(frozen=True, kw_only=True)
class Cooldowns:
    """Seconds in which no further step in the same direction is made."""

    scale_in: int = 300
    scale_out: int = 60


@dataclass(frozen=True, kw_only=True)
class InvocationsTarget:
    """Keep the invocations of each instance at `per_minute`.

    `for_load` computes it from a load test. Source: the developer guide's page on load testing for
    autoscaling.
    """

    per_minute: float
    cooldowns: Cooldowns = Cooldowns()

    @classmethod
    def for_load(
        cls, *, max_rps: float, safety_factor: float = 0.5, cooldowns: Cooldowns = Cooldowns()
    ) -> "InvocationsTarget":
        """Aim at `safety_factor` of the requests a second that one instance was seen to bear."""
        return cls(per_minute=max_rps * safety_factor * 60, cooldowns=cooldowns)


@dataclass(frozen=True, kw_only=True)
class GpuTarget:
    """Keep the utilisation of each GPU at `percent`."""

    percent: float
    cooldowns: Cooldowns = Cooldowns(scale_in=600, scale_out=300)


@dataclass(frozen=True, kw_only=True)
class ConcurrencyTarget:
    """Keep the requests that each instance works on at once at `per_instance`.

    Measured every ten seconds, and so the fastest to react
    (SageMakerVariantConcurrentRequestsPerModelHighResolution).
    """

    per_instance: float
    cooldowns: Cooldowns = Cooldowns()


@dataclass(frozen=True, kw_only=True)
class ScheduledCapacity:
    """Other limits from a time on. `schedule` is `cron(0 8 * * ? *)`, `at(...)` or `rate(...)`."""

    name: str
    schedule: str
    min_count: int
    max_count: int
    timezone: str = "UTC"


Target = InvocationsTarget | GpuTarget | ConcurrencyTarget


class EndpointScaling(Construct):
    """Between `min_count` and `max_count` instances, by one or several targets.

    With several, the one that asks for most instances wins. The scalable target is made after the
    endpoint and removed before it. Made by `TritonEndpoint.auto_scale`. Raises `InvalidEndpoint`.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        endpoint: sagemaker.CfnEndpoint,
        endpoint_name: str,
        variant: Variant,
        min_count: int,
        max_count: int,
        targets: Sequence[Target],
        schedules: Sequence[ScheduledCapacity] = (),
    ) -> None:
        super().__init__(scope, construct_id)
        problems = list(_problems(variant, min_count, max_count, targets, schedules))
        if problems:
            raise InvalidEndpoint(endpoint_name, problems)
        self._metrics = EndpointMetrics(endpoint_name, variant.name)
        self._gpus = variant.instances.instance_type.gpu_count
        self.target = scaling.CfnScalableTarget(
            self,
            "Target",
            max_capacity=max_count,
            min_capacity=min_count,
            resource_id=f"endpoint/{endpoint_name}/variant/{variant.name}",
            scalable_dimension=DIMENSION,
            scheduled_actions=[_scheduled(it) for it in schedules] or None,
            service_namespace=SERVICE,
        )
        self.target.node.add_dependency(endpoint)
        for target in targets:
            self._policy(target)

    def _policy(self, target: Target) -> None:
        name = type(target).__name__.removesuffix("Target")
        scaling.CfnScalingPolicy(
            self,
            name,
            policy_name=f"{self.target.resource_id.replace('/', '-')}-{name}",
            policy_type="TargetTrackingScaling",
            scaling_target_id=self.target.ref,
            target_tracking_scaling_policy_configuration=(
                scaling.CfnScalingPolicy.TargetTrackingScalingPolicyConfigurationProperty(
                    scale_in_cooldown=target.cooldowns.scale_in,
                    scale_out_cooldown=target.cooldowns.scale_out,
                    **self._measure(target),
                )
            ),
        )

    def _measure(self, target: Target) -> dict[str, Any]:
        match target:
            case InvocationsTarget():
                return _predefined("SageMakerVariantInvocationsPerInstance", target.per_minute)
            case ConcurrencyTarget():
                return _predefined(
                    "SageMakerVariantConcurrentRequestsPerModelHighResolution", target.per_instance
                )
            case GpuTarget():
                return self._gpu(target)

    def _gpu(self, target: GpuTarget) -> dict[str, Any]:
        """The metric runs to 100 times the number of GPUs, and so does the target."""
        metric = self._metrics.gpu_utilization()
        dimension = scaling.CfnScalingPolicy.MetricDimensionProperty
        return {
            "customized_metric_specification": (
                scaling.CfnScalingPolicy.CustomizedMetricSpecificationProperty(
                    dimensions=[
                        dimension(name="EndpointName", value=self._metrics.endpoint_name),
                        dimension(name="VariantName", value=self._metrics.variant_name),
                    ],
                    metric_name=metric.metric_name,
                    namespace=metric.namespace,
                    statistic="Average",
                    unit="Percent",
                )
            ),
            "target_value": target.percent * self._gpus,
        }


def _predefined(metric: str, value: float) -> dict[str, Any]:
    return {
        "predefined_metric_specification": (
            scaling.CfnScalingPolicy.PredefinedMetricSpecificationProperty(
                predefined_metric_type=metric
            )
        ),
        "target_value": value,
    }


def _scheduled(capacity: ScheduledCapacity) -> scaling.CfnScalableTarget.ScheduledActionProperty:
    return scaling.CfnScalableTarget.ScheduledActionProperty(
        scheduled_action_name=capacity.name,
        schedule=capacity.schedule,
        timezone=capacity.timezone,
        scalable_target_action=scaling.CfnScalableTarget.ScalableTargetActionProperty(
            min_capacity=capacity.min_count, max_capacity=capacity.max_count
        ),
    )


def _problems(
    variant: Variant,
    min_count: int,
    max_count: int,
    targets: Sequence[Target],
    schedules: Sequence[ScheduledCapacity],
) -> list[Problem]:
    limits = {"scaling": (min_count, max_count)} | {
        f"scaling.schedules.{it.name}": (it.min_count, it.max_count) for it in schedules
    }
    problems = []
    for where, (low, high) in limits.items():
        if low < 1:
            problems.append(
                Problem(
                    f"{where}.min_count",
                    f"{low} is too few: write 1 or more; only endpoints of inference components "
                    "scale to zero",
                )
            )
        if high < low:
            problems.append(
                Problem(f"{where}.max_count", f"{high} is less than min_count {low}: write more")
            )
    initial = variant.instances.initial_count
    if min_count <= max_count and not min_count <= initial <= max_count:
        problems.append(
            Problem(
                "instances.initial_count",
                f"{initial} is outside the scaling limits: write {min_count} to {max_count}",
            )
        )
    if not targets and not schedules:
        problems.append(Problem("scaling.targets", "nothing to scale by: write a target"))
    kinds = [type(target) for target in targets]
    problems += [
        Problem("scaling.targets", f"{name} stands twice: keep one")
        for name in sorted({kind.__name__ for kind in kinds if kinds.count(kind) > 1})
    ]
    for target in targets:
        problems += _target_problems(target, variant)
    return problems


def _target_problems(target: Target, variant: Variant) -> list[Problem]:
    match target:
        case GpuTarget(percent=percent):
            if variant.instances.instance_type.gpu is None:
                name = variant.instances.instance_type.name
                return [Problem("scaling.targets", f"{name} has no GPU to scale by: remove it")]
            if not 0 < percent <= 100:
                return [Problem("scaling.targets", f"{percent} % of a GPU: write 1 to 100")]
        case InvocationsTarget(per_minute=value) | ConcurrencyTarget(per_instance=value):
            if value <= 0:
                return [Problem("scaling.targets", f"a target of {value}: write more than 0")]
    return []
