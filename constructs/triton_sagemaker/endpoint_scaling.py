"""How many instances a variant has."""

from collections.abc import Sequence
from typing import Any

from aws_cdk import aws_applicationautoscaling as scaling
from constructs import Construct

from triton_sagemaker.argument_types import typed
from triton_sagemaker.durations import seconds
from triton_sagemaker.endpoint_metrics import CPU_UTILIZATION, GPU_UTILIZATION, INSTANCES
from triton_sagemaker.problems import InvalidEndpoint
from triton_sagemaker.scaling_targets import (
    ConcurrencyTarget,
    CpuTarget,
    GpuTarget,
    InvocationsTarget,
    ScheduledCapacity,
    Target,
    scaling_problems,
)
from triton_sagemaker.variant import Variant

SERVICE = "sagemaker"
DIMENSION = "sagemaker:variant:DesiredInstanceCount"


@typed
class EndpointScaling(Construct):
    """Between `min_count` and `max_count` instances, by one or several targets.

    With several, the one that asks for most instances wins. The scalable target is made after
    `after`, and removed before it. Made by `TritonEndpoint.auto_scale`. Raises `InvalidEndpoint`.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        after: Construct,
        endpoint_name: str,
        variant: Variant,
        min_count: int,
        max_count: int,
        targets: Sequence[Target],
        schedules: Sequence[ScheduledCapacity] = (),
    ) -> None:
        super().__init__(scope, construct_id)
        problems = scaling_problems(variant, min_count, max_count, targets, schedules)
        if problems:
            raise InvalidEndpoint(endpoint_name, problems)
        self._endpoint_name, self._variant = endpoint_name, variant
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
        self.target.node.add_dependency(after)
        for target in targets:
            self._policy(target)

    def _policy(self, target: Target) -> None:
        scaling.CfnScalingPolicy(
            self,
            target.name,
            policy_name=f"endpoint-{self._endpoint_name}-variant-{self._variant.name}-{target.name}",
            policy_type="TargetTrackingScaling",
            scaling_target_id=self.target.ref,
            target_tracking_scaling_policy_configuration=(
                scaling.CfnScalingPolicy.TargetTrackingScalingPolicyConfigurationProperty(
                    scale_in_cooldown=seconds(target.cooldowns.scale_in),
                    scale_out_cooldown=seconds(target.cooldowns.scale_out),
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
                count = self._variant.instances.instance_type.gpu_count
                return self._utilization(GPU_UTILIZATION, target.percent, count)
            case CpuTarget():
                count = self._variant.instances.instance_type.vcpus
                return self._utilization(CPU_UTILIZATION, target.percent, count)

    def _utilization(self, metric: str, percent: float, count: int) -> dict[str, Any]:
        """The metric runs to 100 times the number of GPUs or vCPUs, and so does the target."""
        dimension = scaling.CfnScalingPolicy.MetricDimensionProperty
        return {
            "customized_metric_specification": (
                scaling.CfnScalingPolicy.CustomizedMetricSpecificationProperty(
                    dimensions=[
                        dimension(name="EndpointName", value=self._endpoint_name),
                        dimension(name="VariantName", value=self._variant.name),
                    ],
                    metric_name=metric,
                    namespace=INSTANCES,
                    statistic="Average",
                    unit="Percent",
                )
            ),
            "target_value": percent * count,
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
