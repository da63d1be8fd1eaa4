"""Properties that refer to another account, bucket, registry or host than before."""

import copy
from typing import Any

import pytest

from review.comparison import Comparison
from review.dangers.targets import foreign_targets
from tests.unit.review.edits import PROD, Edit, compare, put

REGISTRY = "111111111111.dkr.ecr.us-east-1.amazonaws.com"
GROUP = "sg-0123456789abcdef0"
RESOURCES: dict[str, Any] = {
    "Function": {
        "Type": "AWS::Lambda::Function",
        "Properties": {"Code": {"S3Bucket": "assets", "S3Key": "a.zip"}},
    },
    "Check": {
        "Type": "Custom::Check",
        "Properties": {"ServiceToken": "arn:aws:lambda:us-east-1:111111111111:function:f"},
    },
    "Config": {
        "Type": "AWS::SageMaker::EndpointConfig",
        "Properties": {"DataCaptureConfig": {"DestinationS3Uri": "s3://captured/text"}},
    },
    "Project": {
        "Type": "AWS::CodeBuild::Project",
        "Properties": {
            "Environment": {
                "Image": f"{REGISTRY}/image@sha256:0a",
                "EnvironmentVariables": [{"Name": "A", "Value": "https://pypi.org/simple"}],
            }
        },
    },
    "Model": {
        "Type": "AWS::SageMaker::Model",
        "Properties": {"VpcConfig": {"SecurityGroupIds": [GROUP]}},
    },
}
ENVIRONMENT = ("Project", "Environment")
FOREIGN: dict[str, tuple[Edit, str]] = {
    "code": (put("Function", "Code", "S3Bucket", "evil"), "bucket.evil"),
    "function": (
        put("Check", "ServiceToken", "arn:aws:lambda:us-east-1:222222222222:function:f"),
        "account.222222222222",
    ),
    "capture": (
        put("Config", "DataCaptureConfig", "DestinationS3Uri", "s3://evil/text"),
        "bucket.evil",
    ),
    "registry": (put(*ENVIRONMENT, "Image", "evil.example/image"), "registry.evil.example"),
    "image of another account": (
        put("Model", "PrimaryContainer", {"Image": REGISTRY.replace("1", "2", 12) + "/triton:1"}),
        "account.222222222222",
    ),
    "host": (
        put(*ENVIRONMENT, "EnvironmentVariables", 0, "Value", "https://ci:pw@evil.example/simple"),
        "host.evil.example",
    ),
    "bucket of another cloud": (
        put("Config", "DataCaptureConfig", "DestinationS3Uri", "gs://evil/text"),
        "host.evil",
    ),
    "security group": (
        put("Model", "VpcConfig", "SecurityGroupIds", ["sg-0123456789abcdef1"]),
        "security group.sg-0123456789abcdef1",
    ),
}
FAMILIAR: dict[str, Edit] = {
    "other object": put("Function", "Code", "S3Key", "b.zip"),
    "other image": put(*ENVIRONMENT, "Image", f"{REGISTRY}/image@sha256:0b"),
    "bucket of another resource": put("Function", "Code", "S3Bucket", "captured"),
}


def edited(edit: Edit) -> Comparison:
    after = copy.deepcopy(RESOURCES)
    edit(after)
    return compare(RESOURCES, after)


@pytest.mark.parametrize("title", FOREIGN)
def test_new_target_is_a_danger(title: str) -> None:
    edit, subject = FOREIGN[title]
    (danger,) = foreign_targets(edited(edit))
    assert danger.subject == subject
    assert "prod-text/" in danger.message


@pytest.mark.parametrize("title", FAMILIAR)
def test_target_that_the_stage_has_is_no_danger(title: str) -> None:
    assert [*foreign_targets(edited(FAMILIAR[title]))] == []


def test_output_with_a_new_target_is_a_danger() -> None:
    """Another stack imports it."""
    before = {"prod-models": {"Resources": RESOURCES}}
    outputs = {"Bucket": {"Value": "arn:aws:s3:::evil", "Export": {"Name": "a"}}}
    after = {"prod-models": {"Resources": RESOURCES, "Outputs": outputs}}
    (danger,) = foreign_targets(Comparison("prod", before, after, PROD, PROD))
    assert danger.message.startswith("prod-models: output Bucket: refers to the bucket evil")


def test_new_stage_has_nothing_to_compare_with() -> None:
    comparison = Comparison("prod", {}, {"prod-text": {"Resources": RESOURCES}}, None, PROD)
    assert [*foreign_targets(comparison)] == []
