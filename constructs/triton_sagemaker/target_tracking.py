"""Configurations of target-tracking policies."""

from collections.abc import Mapping
from typing import Any, TypedDict, Unpack

from aws_cdk import Duration
from aws_cdk.aws_applicationautoscaling import CfnScalingPolicy

from platform_facts.rules.monitoring import INSTANCES, INVOCATIONS

TrackingConfiguration = CfnScalingPolicy.TargetTrackingScalingPolicyConfigurationProperty
Predefined = CfnScalingPolicy.PredefinedMetricSpecificationProperty
Customized = CfnScalingPolicy.CustomizedMetricSpecificationProperty
Query = CfnScalingPolicy.TargetTrackingMetricDataQueryProperty


class Cooldowns(TypedDict, total=False):
    """Minimum times between two scaling activities in the same direction."""

    scale_in_cooldown: Duration
    scale_out_cooldown: Duration


def target_tracking(
    metric: str, value: float, dimensions: dict[str, str], **cooldowns: Unpack[Cooldowns]
) -> TrackingConfiguration:
    """Return the configuration that keeps `metric` at `value`.

    Default cooldowns for utilization are longer, because new instances are busy while they start.
    """
    if metric.startswith("SageMaker"):  # a predefined metric type
        predefined = Predefined(predefined_metric_type=metric)
        return _configuration(
            value, 300, 60, predefined_metric_specification=predefined, **cooldowns
        )
    customized = Customized(
        dimensions=[
            CfnScalingPolicy.MetricDimensionProperty(name=name, value=value)
            for name, value in dimensions.items()
        ],
        metric_name=metric,
        namespace=INSTANCES,
        statistic="Average",
        unit="Percent",
    )
    return _configuration(value, 600, 300, customized_metric_specification=customized, **cooldowns)


def concurrency_tracking(
    targets: Mapping[str, float], dimensions: dict[str, str], **cooldowns: Unpack[Cooldowns]
) -> TrackingConfiguration:
    """Return the configuration that keeps instances of each type at the type's target concurrency.

    `targets` maps instance types to requests in progress on an instance. The metric is the average
    of concurrency / target over the instance types with data, the types with instances. The
    example of the developer guide (realtime-endpoints-heterogeneous) divides by the number of all
    types, so that a fleet of only one type could never reach the target. Not tested on AWS.
    """
    ids = {instance_type: f"type{number}" for number, instance_type in enumerate(targets)}
    queries = [
        Query(
            id=ids[instance_type],
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
        for instance_type in targets
    ]
    shares = (f"FILL({ids[name]},0)/{target:g}" for name, target in targets.items())
    running = (f"IF(FILL({ids[name]},-1)>=0,1,0)" for name in targets)
    expression = f"({'+'.join(shares)})/({'+'.join(running)})"
    share = Query(id="share", expression=expression, return_data=True)
    customized = Customized(metrics=[*queries, share])
    return _configuration(1, 300, 60, customized_metric_specification=customized, **cooldowns)


def _configuration(
    value: float,
    scale_in_seconds: int,
    scale_out_seconds: int,
    *,
    scale_in_cooldown: Duration | None = None,
    scale_out_cooldown: Duration | None = None,
    **specification: Any,
) -> TrackingConfiguration:
    return TrackingConfiguration(
        scale_in_cooldown=scale_in_cooldown.to_seconds() if scale_in_cooldown else scale_in_seconds,
        scale_out_cooldown=scale_out_cooldown.to_seconds()
        if scale_out_cooldown
        else scale_out_seconds,
        target_value=value,
        **specification,
    )
