"""CaptureStack: the bucket for captured requests, tags, and log retention of a stage."""

import pytest

from tests.synth.conftest import templates_of
from tests.synth.endpoints import properties_of

BUCKET, CONFIG = "AWS::S3::Bucket", "AWS::SageMaker::EndpointConfig"


def test_stage_without_data_capture_has_no_capture_stack(stage: str) -> None:
    assert f"{stage}-capture" not in templates_of(stage)


def test_captured_data_has_retention_and_survives_stack_deletion() -> None:
    resources = templates_of("all")["all-capture"]["Resources"]
    (bucket,) = properties_of(templates_of("all")["all-capture"], BUCKET, "CapturedBucket")
    rules = bucket["LifecycleConfiguration"]["Rules"]
    assert [(rule.get("Prefix"), rule["ExpirationInDays"]) for rule in rules] == [
        (None, 30),  # also of endpoints that no longer capture
        ("ten-variants/", 7),
    ]
    retained_resources = [
        resource for resource in resources.values() if resource["Type"] in (BUCKET, "AWS::KMS::Key")
    ]
    assert [resource["DeletionPolicy"] for resource in retained_resources] == ["Retain"] * 3


@pytest.mark.parametrize(
    ("stage", "days"),
    [
        ("all", {"all-ten-variants": 731, "all-rolling": 731}),
        ("plain", {"plain-volumes": 90, "plain-volumes/triton-metrics": 7}),
    ],
)
def test_endpoint_log_retention_is_that_of_the_stage(stage: str, days: dict[str, int]) -> None:
    groups = properties_of(templates_of(stage)[f"{stage}-models"], "AWS::Logs::LogGroup")
    retention = {
        group["LogGroupName"]: group["RetentionInDays"]
        for group in groups
        if "LogGroupName" in group
    }
    assert retention == {f"/aws/sagemaker/Endpoints/{name}": day for name, day in days.items()}
