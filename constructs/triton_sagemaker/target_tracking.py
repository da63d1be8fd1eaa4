"""Target tracking of a metric, with its cooldowns."""

from collections.abc import Mapping
from typing import TypedDict

from aws_cdk import Duration
from aws_cdk.aws_applicationautoscaling import CfnScalingPolicy

from triton_sagemaker.endpoint_metrics import INSTANCES, INVOCATIONS

Configuration = CfnScalingPolicy.TargetTrackingScalingPolicyConfigurationProperty
Customized = CfnScalingPolicy.CustomizedMetricSpecificationProperty
Query = CfnScalingPolicy.TargetTrackingMetricDataQueryProperty


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
    if metric.startswith("SageMaker"):  # as all of Application Auto Scaling's own do
        return Configuration(
            predefined_metric_specification=CfnScalingPolicy.PredefinedMetricSpecificationProperty(
                predefined_metric_type=metric
            ),
            scale_in_cooldown=_seconds(scale_in_cooldown, 300),
            scale_out_cooldown=_seconds(scale_out_cooldown, 60),
            target_value=value,
        )
    return Configuration(
        customized_metric_specification=Customized(
            dimensions=[
                CfnScalingPolicy.MetricDimensionProperty(name=name, value=value)
                for name, value in dimensions.items()
            ],
            metric_name=metric,
            namespace=INSTANCES,
            statistic="Average",
            unit="Percent",
        ),
        scale_in_cooldown=_seconds(scale_in_cooldown, 600),
        scale_out_cooldown=_seconds(scale_out_cooldown, 300),
        target_value=value,
    )


def concurrency_tracking(
    targets: Mapping[str, float],
    dimensions: dict[str, str],
    *,
    scale_in_cooldown: Duration | None = None,
    scale_out_cooldown: Duration | None = None,
) -> Configuration:
    """Return the configuration that keeps the instances of each type at its own concurrency.

    `targets` are requests in progress on an instance, by instance type. The metric is their mean
    share of the target, over the types that have instances: those have data (developer guide,
    realtime-endpoints-heterogeneous, divides by all types, so that a fleet of one type alone could
    never reach the target). Not tried on AWS.
    """
    queries = [
        Query(
            id=f"type{number}",
            metric_stat=CfnScalingPolicy.TargetTrackingMetricStatProperty(
                metric=CfnScalingPolicy.TargetTrackingMetricProperty(
                    dimensions=[
                        CfnScalingPolicy.TargetTrackingMetricDimensionProperty(
                            name=name, value=value
                        )
                        for name, value in {**dimensions, "InstanceType": instance_type}.items()
                    ],
                    metric_name="ConcurrentRequestsPerModel",
                    namespace=INVOCATIONS,
                ),
                stat="Average",
            ),
            return_data=False,
        )
        for number, instance_type in enumerate(targets)
    ]
    shares = (f"FILL(type{number},0)/{target:g}" for number, target in enumerate(targets.values()))
    running = (f"IF(FILL(type{number},-1)>=0,1,0)" for number in range(len(targets)))
    expression = f"({'+'.join(shares)})/({'+'.join(running)})"
    return Configuration(
        customized_metric_specification=Customized(
            metrics=[*queries, Query(id="share", expression=expression, return_data=True)]
        ),
        scale_in_cooldown=_seconds(scale_in_cooldown, 300),
        scale_out_cooldown=_seconds(scale_out_cooldown, 60),
        target_value=1,
    )


def _seconds(cooldown: Duration | None, default: int) -> float:
    return default if cooldown is None else cooldown.to_seconds()
