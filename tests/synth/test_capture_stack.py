"""CaptureStack: the bucket for captured requests, tags, and log retention of a stage."""

import json
from typing import Any

import pytest
from aws_cdk.assertions import Match, Template

from tests.synth.conftest import templates_of
from tests.synth.endpoints import properties_of

BUCKET, CONFIG = "AWS::S3::Bucket", "AWS::SageMaker::EndpointConfig"


def test_stage_without_data_capture_has_no_capture_stack(stage: str) -> None:
    assert f"{stage}-capture" not in templates_of(stage)


def test_endpoint_captures_below_its_name_with_bucket_key() -> None:
    stacks = templates_of("all")
    ten = Template.from_json(stacks["all-ten-variants"])
    import_value = {"Fn::ImportValue": Match.string_like_regexp("^all-capture:")}
    ten.has_resource_properties(
        CONFIG,
        {
            "DataCaptureConfig": {
                "CaptureOptions": [{"CaptureMode": "Input"}],
                "DestinationS3Uri": {"Fn::Join": ["", ["s3://", import_value, "/ten-variants"]]},
                "EnableCapture": True,
                "InitialSamplingPercentage": 10,
                "KmsKeyId": import_value,
            }
        },
    )
    rolling = json.dumps(stacks["all-rolling"])
    assert '"/rolling"' in rolling
    assert '"CaptureMode": "Output"' in rolling


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


def test_tags_are_set_on_taggable_resources() -> None:
    tags: list[dict[str, Any]] = [
        {"Key": "Team", "Value": "search"},
        {"Key": "cost-centre/EU", "Value": "4711 + 4712"},
    ]
    tagged_types = {
        resource["Type"]
        for template in templates_of("all").values()
        for resource in template["Resources"].values()
        if isinstance(values := resource.get("Properties", {}).get("Tags"), list)
        and all(tag in values for tag in tags)
    }
    assert tagged_types >= {
        *("AWS::SageMaker::Model", CONFIG, "AWS::SageMaker::Endpoint", BUCKET, "AWS::KMS::Key"),
        *("AWS::CloudWatch::Alarm", "AWS::CodeBuild::Project", "AWS::IAM::Role"),
        *("AWS::ApplicationAutoScaling::ScalableTarget", "AWS::Logs::LogGroup"),
    }


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
