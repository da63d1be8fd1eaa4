"""Target-tracking policies of a variant."""

from typing import Any, TypedDict

from aws_cdk import Duration
from aws_cdk.aws_applicationautoscaling import CfnScalingPolicy
from constructs import Construct

from triton_sagemaker.durations import seconds
from triton_sagemaker.endpoint_metrics import CPU_UTILIZATION, GPU_UTILIZATION, INSTANCES


class Cooldowns(TypedDict, total=False):
    """The times in which no further step is made in the same direction."""

    scale_in_cooldown: Duration
    scale_out_cooldown: Duration


REQUESTS = Cooldowns(scale_in_cooldown=Duration.minutes(5), scale_out_cooldown=Duration.minutes(1))
UTILIZATION = Cooldowns(
    scale_in_cooldown=Duration.minutes(10), scale_out_cooldown=Duration.minutes(5)
)
"""Longer, because new instances are busy at their own start."""


def track_metric(
    scope: Construct,
    construct_id: str,
    *,
    target_id: str,
    endpoint_name: str,
    variant_name: str,
    metric: str,
    target_value: float,
    scale_in_cooldown: Duration,
    scale_out_cooldown: Duration,
) -> CfnScalingPolicy:
    """Return a policy.

    It is L1 because a policy of the CDK's L2 has another logical ID than the one of a deployed
    endpoint, and cannot replace it: "Only one TargetTrackingScaling policy for a given metric
    specification is allowed" (PutScalingPolicy, in hashicorp/terraform-provider-aws#24282).
    """
    return CfnScalingPolicy(
        scope,
        construct_id,
        policy_name=f"endpoint-{endpoint_name}-variant-{variant_name}-{construct_id}",
        policy_type="TargetTrackingScaling",
        scaling_target_id=target_id,
        target_tracking_scaling_policy_configuration=(
            CfnScalingPolicy.TargetTrackingScalingPolicyConfigurationProperty(
                scale_in_cooldown=seconds(scale_in_cooldown),
                scale_out_cooldown=seconds(scale_out_cooldown),
                target_value=target_value,
                **_specification(metric, endpoint_name, variant_name),
            )
        ),
    )


def _specification(metric: str, endpoint_name: str, variant_name: str) -> dict[str, Any]:
    """Return what specifies a metric: the endpoint's utilization, or one of Auto Scaling's own."""
    if metric not in (GPU_UTILIZATION, CPU_UTILIZATION):
        return {
            "predefined_metric_specification": (
                CfnScalingPolicy.PredefinedMetricSpecificationProperty(
                    predefined_metric_type=metric
                )
            )
        }
    dimensions = {"EndpointName": endpoint_name, "VariantName": variant_name}
    return {
        "customized_metric_specification": CfnScalingPolicy.CustomizedMetricSpecificationProperty(
            dimensions=[
                CfnScalingPolicy.MetricDimensionProperty(name=name, value=value)
                for name, value in dimensions.items()
            ],
            metric_name=metric,
            namespace=INSTANCES,
            statistic="Average",
            unit="Percent",
        )
    }
