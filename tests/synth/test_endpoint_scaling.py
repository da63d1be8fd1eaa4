"""EndpointScaling."""

from typing import Any

import pytest
from aws_cdk import Duration

from platform_facts import Processor
from tests.synth.endpoints import Scene
from triton_sagemaker import (
    ConcurrencyTarget,
    Cooldowns,
    CpuTarget,
    GpuTarget,
    InvocationsTarget,
    ScheduledCapacity,
)

TARGET, POLICY = (
    f"AWS::ApplicationAutoScaling::{it}" for it in ("ScalableTarget", "ScalingPolicy")
)


@pytest.fixture
def scene() -> Scene:
    return Scene()


def test_target_is_the_variant_s_instance_count(scene: Scene) -> None:
    scene.endpoint().auto_scale(
        min_count=1, max_count=4, targets=[InvocationsTarget(per_minute=100)]
    )
    assert scene.properties(TARGET) == {
        "MaxCapacity": 4,
        "MinCapacity": 1,
        "ResourceId": "endpoint/under-test/variant/AllTraffic",
        "ScalableDimension": "sagemaker:variant:DesiredInstanceCount",
        "ServiceNamespace": "sagemaker",
    }


def test_target_is_made_after_the_endpoint_and_so_removed_before_it(scene: Scene) -> None:
    scene.endpoint().auto_scale(
        min_count=1, max_count=4, targets=[InvocationsTarget(per_minute=100)]
    )
    resources = scene.template().to_json()["Resources"]
    (target,) = (it for it in resources.values() if it["Type"] == TARGET)
    assert {resources[name]["Type"] for name in target["DependsOn"]} == {"AWS::SageMaker::Endpoint"}


def test_invocations_follow_from_what_an_instance_sustains(scene: Scene) -> None:
    assert _tracking(scene, InvocationsTarget.for_load(max_rps=20, safety_factor=0.6)) == {
        "PredefinedMetricSpecification": {
            "PredefinedMetricType": "SageMakerVariantInvocationsPerInstance"
        },
        "ScaleInCooldown": 300,
        "ScaleOutCooldown": 60,
        "TargetValue": 720,
    }


def test_half_of_what_an_instance_sustains_is_aimed_at_by_default() -> None:
    # New instances take minutes: the others must serve what comes until then.
    assert InvocationsTarget.for_load(max_rps=20).per_minute == 600


def test_gpu_metric_has_the_dimensions_that_exist(scene: Scene) -> None:
    assert _tracking(scene, GpuTarget(percent=70)) == {
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


def test_gpu_target_is_of_all_gpus_because_the_metric_is(scene: Scene) -> None:
    variant = scene.variant(
        hosting=scene.single_model(), instances=scene.instances("ml.g5.12xlarge")
    )
    assert _tracking(scene, GpuTarget(percent=70), variant)["TargetValue"] == 280


def test_cpu_target_is_of_all_vcpus_because_the_metric_is(scene: Scene) -> None:
    # "if there are four CPUs, the CPUUtilization range is 0%-400%": the developer guide.
    variant = scene.variant(
        container=scene.container(processor=Processor.CPU),
        instances=scene.instances("ml.m5.2xlarge"),
    )
    tracking = _tracking(scene, CpuTarget(percent=70), variant)
    assert tracking["CustomizedMetricSpecification"]["MetricName"] == "CPUUtilization"
    assert tracking["TargetValue"] == 560


def test_concurrency_is_measured_at_high_resolution(scene: Scene) -> None:
    cooldowns = Cooldowns(scale_in=Duration.seconds(10), scale_out=Duration.seconds(20))
    alone = scene.variant(hosting=scene.single_model())
    target = ConcurrencyTarget(per_instance=5, cooldowns=cooldowns)
    tracking = _tracking(scene, target, alone)
    assert tracking["PredefinedMetricSpecification"] == {
        "PredefinedMetricType": "SageMakerVariantConcurrentRequestsPerModelHighResolution"
    }
    assert (tracking["ScaleInCooldown"], tracking["ScaleOutCooldown"]) == (10, 20)


def test_several_policies_work_together(scene: Scene) -> None:
    scene.endpoint().auto_scale(
        min_count=1,
        max_count=4,
        targets=[InvocationsTarget(per_minute=100), GpuTarget(percent=70)],
    )
    policies = scene.template().find_resources(POLICY).values()
    assert sorted(it["Properties"]["PolicyName"] for it in policies) == [
        "endpoint-under-test-variant-AllTraffic-Gpu",
        "endpoint-under-test-variant-AllTraffic-Invocations",
    ]


def test_limits_can_follow_a_schedule(scene: Scene) -> None:
    night = ScheduledCapacity(
        name="night", schedule="cron(0 20 * * ? *)", min_count=1, max_count=2,
        timezone="Europe/Berlin",
    )  # fmt: skip
    scene.endpoint().auto_scale(min_count=1, max_count=4, targets=[], schedules=[night])
    assert scene.properties(TARGET)["ScheduledActions"] == [
        {
            "ScalableTargetAction": {"MaxCapacity": 2, "MinCapacity": 1},
            "Schedule": "cron(0 20 * * ? *)",
            "ScheduledActionName": "night",
            "Timezone": "Europe/Berlin",
        }
    ]


def test_cpu_variants_scale_by_invocations(scene: Scene) -> None:
    variant = scene.variant(
        container=scene.container(processor=Processor.CPU),
        instances=scene.instances("ml.m5.xlarge"),
    )
    assert _tracking(scene, InvocationsTarget(per_minute=60), variant)["TargetValue"] == 60


def _tracking(scene: Scene, target: Any, *variants: Any) -> dict[str, Any]:
    scene.endpoint(*variants).auto_scale(min_count=1, max_count=4, targets=[target])
    result: dict[str, Any] = scene.properties(POLICY)["TargetTrackingScalingPolicyConfiguration"]
    return result
