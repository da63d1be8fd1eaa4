"""Scaling of a variant's instance count."""

from collections.abc import Callable
from typing import Any

from aws_cdk import Duration, TimeZone
from aws_cdk.aws_applicationautoscaling import Schedule

from tests.synth.endpoints import SampleStack
from triton_sagemaker import ScalableInstanceCount, Variant

TARGET, POLICY = (
    f"AWS::ApplicationAutoScaling::{kind}" for kind in ("ScalableTarget", "ScalingPolicy")
)


def on_invocations(count: ScalableInstanceCount) -> None:
    count.scale_on_invocations("Invocations", max_requests_per_second=20)


def on_gpus(count: ScalableInstanceCount) -> None:
    count.scale_on_gpu_utilization("Gpu", target_utilization_percent=70)


def test_invocation_target_is_half_of_max_requests(sample: SampleStack) -> None:
    # New instances take minutes to start; the others serve the load until then.
    assert _tracking(sample, on_invocations) == {
        "PredefinedMetricSpecification": {
            "PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"
        },
        "ScaleInCooldown": 300,
        "ScaleOutCooldown": 60,
        "TargetValue": 600,
    }


def test_gpu_metric_dimensions(sample: SampleStack) -> None:
    assert _tracking(sample, on_gpus) == {
        "CustomizedMetricSpecification": {
            "Dimensions": [
                {"Name": "EndpointName", "Value": "under-test"},
                {"Name": "VariantName", "Value": "AllTraffic"},
            ],
            "MetricName": "GPUUtilization",
            "Namespace": "/aws/sagemaker/Endpoints",
            "Statistic": "Average",
            "Unit": "Percent",
        },
        "ScaleInCooldown": 600,
        "ScaleOutCooldown": 300,
        "TargetValue": 70,
    }


def test_gpu_target_is_multiplied_by_gpu_count(sample: SampleStack) -> None:
    variant = sample.variant("ml.g5.12xlarge", hosting=sample.single_model())
    assert _tracking(sample, on_gpus, variant)["TargetValue"] == 280


def test_cpu_target_is_multiplied_by_vcpu_count(sample: SampleStack) -> None:
    # "if there are four CPUs, the CPUUtilization range is 0%-400%": the developer guide.
    def scale(count: ScalableInstanceCount) -> None:
        count.scale_on_cpu_utilization("Cpu", target_utilization_percent=70)

    tracking = _tracking(sample, scale, sample.variant("ml.m5.2xlarge"))
    assert tracking["CustomizedMetricSpecification"]["MetricName"] == "CPUUtilization"
    assert tracking["TargetValue"] == 560


def test_concurrency_uses_high_resolution_metric(sample: SampleStack) -> None:
    def scale(count: ScalableInstanceCount) -> None:
        count.scale_on_concurrency(
            "Concurrency",
            requests_per_instance=5,
            scale_in_cooldown=Duration.seconds(10),
            scale_out_cooldown=Duration.seconds(20),
        )

    tracking = _tracking(sample, scale, sample.variant(hosting=sample.single_model()))
    assert tracking["PredefinedMetricSpecification"] == {
        "PredefinedMetricType": "SageMakerVariantConcurrentRequestsPerModelHighResolution"
    }
    assert (tracking["ScaleInCooldown"], tracking["ScaleOutCooldown"]) == (10, 20)


def test_schedules_change_scaling_limits(sample: SampleStack) -> None:
    endpoint = sample.endpoint()
    count = endpoint.instance_production_variants[0].auto_scale_instance_count(max_capacity=4)
    count.scale_on_schedule(
        "night",
        schedule=Schedule.cron(hour="20", minute="0"),
        time_zone=TimeZone.EUROPE_BERLIN,
        min_capacity=1,
        max_capacity=2,
    )
    count.scale_on_schedule(
        "launch", schedule=Schedule.expression("rate(1 day)"), min_capacity=4, max_capacity=8
    )
    night, launch = sample.properties(TARGET)["ScheduledActions"]
    assert night == {
        "ScalableTargetAction": {"MaxCapacity": 2, "MinCapacity": 1},
        "Schedule": "cron(0 20 * * ? *)",
        "ScheduledActionName": "night",
        "Timezone": "Europe/Berlin",
    }
    assert launch["ScalableTargetAction"] == {"MaxCapacity": 8, "MinCapacity": 4}
    assert endpoint.problems == []


def _tracking(
    sample: SampleStack, scale: Callable[[ScalableInstanceCount], None], *variants: Variant
) -> dict[str, Any]:
    scale(
        sample.endpoint(*variants)
        .instance_production_variants[0]
        .auto_scale_instance_count(max_capacity=4)
    )
    result: dict[str, Any] = sample.properties(POLICY)["TargetTrackingScalingPolicyConfiguration"]
    return result
