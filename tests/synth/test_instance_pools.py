"""Variants with fallback instance types: configuration, Models, access, scaling and dashboard."""

import json

from platform_facts import instance_type
from tests.synth.endpoints import SampleStack
from triton_sagemaker import Fallback, Variant

MODEL, CONFIG = "AWS::SageMaker::Model", "AWS::SageMaker::EndpointConfig"
POLICY, DASHBOARD = "AWS::ApplicationAutoScaling::ScalingPolicy", "AWS::CloudWatch::Dashboard"


def pool(sample: SampleStack, *types: str) -> Variant:
    """Return a variant of the first type with the other types as fallbacks."""
    preferred_type, *fallback_types = types
    return sample.variant(
        preferred_type,
        hosting=sample.single_model(),
        fallbacks=[
            Fallback(
                instance_type=instance_type(name),
                hosting=sample.single_model(key=f"test/{name}/m.tar.gz"),
            )
            for name in fallback_types
        ],
    )


def test_role_may_read_archives_of_every_pool(sample: SampleStack) -> None:
    variant = pool(sample, "ml.g6.xlarge", "ml.g5.xlarge")
    (fallback,) = variant.fallbacks
    elsewhere = sample.single_model(key="elsewhere/m.tar.gz")
    fallback_elsewhere = Fallback(instance_type=fallback.instance_type, hosting=elsewhere)
    sample.endpoint(
        sample.variant("ml.g6.xlarge", hosting=variant.hosting, fallbacks=[fallback_elsewhere])
    )
    policy = json.dumps(sample.template().find_resources("AWS::IAM::Policy"))
    assert "/test/*" in policy
    assert "/elsewhere/*" in policy


def test_dashboard_shows_each_instance_type(sample: SampleStack) -> None:
    sample.endpoint(pool(sample, "ml.g6.xlarge", "ml.g5.xlarge")).monitor()
    body = json.dumps(sample.properties(DASHBOARD)["DashboardBody"])
    assert "Traffic by instance type" in body
    assert body.count('\\"InstanceType\\",\\"ml.g5.xlarge\\"') == 2


def test_pools_with_different_gpu_counts_have_no_gpu_memory_alarm(sample: SampleStack) -> None:
    sample.endpoint(pool(sample, "ml.g6.xlarge", "ml.g5.12xlarge")).monitor()
    alarms = json.dumps(sample.template().find_resources("AWS::CloudWatch::Alarm"))
    assert "GPUMemoryUtilization" not in alarms
    assert "DiskUtilization" in alarms
