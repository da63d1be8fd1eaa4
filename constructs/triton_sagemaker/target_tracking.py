"""What the target-tracking policies of a variant follow, and how fast."""

from typing import Any, TypedDict

from aws_cdk import Duration
from aws_cdk.aws_applicationautoscaling import CfnScalingPolicy

from triton_sagemaker.durations import seconds
from triton_sagemaker.endpoint_metrics import INSTANCES


class Cooldowns(TypedDict, total=False):
    """The times in which no further step is made in the same direction."""

    scale_in_cooldown: Duration
    scale_out_cooldown: Duration


REQUESTS = Cooldowns(scale_in_cooldown=Duration.minutes(5), scale_out_cooldown=Duration.minutes(1))
UTILIZATION = Cooldowns(
    scale_in_cooldown=Duration.minutes(10), scale_out_cooldown=Duration.minutes(5)
)
"""Longer, because new instances are busy at their own start."""


def in_seconds(*, scale_in_cooldown: Duration, scale_out_cooldown: Duration) -> dict[str, Any]:
    """Return cooldowns as a policy takes them."""
    return {
        "scale_in_cooldown": seconds(scale_in_cooldown),
        "scale_out_cooldown": seconds(scale_out_cooldown),
    }


def specification(metric: str, endpoint_name: str, variant_name: str) -> dict[str, Any]:
    """Return what specifies a metric: the endpoint's utilization, or one of Auto Scaling's own."""
    if metric.startswith("SageMaker"):  # as all of Application Auto Scaling's own do
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
