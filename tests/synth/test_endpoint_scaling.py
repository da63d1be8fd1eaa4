"""Scaling of a variant's instance count."""

from collections.abc import Callable
from typing import Any

from tests.synth.endpoints import SampleStack
from triton_sagemaker import ScalableInstanceCount, Variant

POLICY = "AWS::ApplicationAutoScaling::ScalingPolicy"


def on_gpus(count: ScalableInstanceCount) -> None:
    count.scale_on_gpu_utilization("Gpu", target_utilization_percent=70)


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
