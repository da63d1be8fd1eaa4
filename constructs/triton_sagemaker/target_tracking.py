"""Target tracking of a metric, with its cooldowns."""

from typing import TypedDict

from aws_cdk import Duration
from aws_cdk.aws_applicationautoscaling import CfnScalingPolicy

from triton_sagemaker.endpoint_metrics import INSTANCES

Configuration = CfnScalingPolicy.TargetTrackingScalingPolicyConfigurationProperty


class Cooldowns(TypedDict, total=False):
    """The times in which no further step is made in the same direction."""

    scale_in_cooldown: Duration
    scale_out_cooldown: Duration


def target_tracking(
    metric: str,
    value: float,
    dimensions: dict[str, str],
    *,
    scale_in_cooldown: Duration | None = None,
    scale_out_cooldown: Duration | None = None,
) -> Configuration:
    """Return the configuration that keeps `metric` at `value`.

    Cooldowns of utilization are longer: new instances are busy at their own start.
    """
    predefined = customized = None
    if metric.startswith("SageMaker"):  # as all of Application Auto Scaling's own do
        scale_in, scale_out = 300, 60
        predefined = CfnScalingPolicy.PredefinedMetricSpecificationProperty(
            predefined_metric_type=metric
        )
    else:
        scale_in, scale_out = 600, 300
        customized = CfnScalingPolicy.CustomizedMetricSpecificationProperty(
            dimensions=[
                CfnScalingPolicy.MetricDimensionProperty(name=name, value=value)
                for name, value in dimensions.items()
            ],
            metric_name=metric,
            namespace=INSTANCES,
            statistic="Average",
            unit="Percent",
        )
    return Configuration(
        customized_metric_specification=customized,
        predefined_metric_specification=predefined,
        scale_in_cooldown=_seconds(scale_in_cooldown, scale_in),
        scale_out_cooldown=_seconds(scale_out_cooldown, scale_out),
        target_value=value,
    )


def _seconds(cooldown: Duration | None, default: int) -> float:
    return default if cooldown is None else cooldown.to_seconds()
