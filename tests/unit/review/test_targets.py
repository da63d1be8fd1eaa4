"""Properties that refer to another account, bucket, registry or host than before."""

import copy
from pathlib import Path
from typing import Any

import pytest

from review.comparison import Comparison
from review.dangers.targets import foreign_targets, unreachable_hosts
from tests.unit.review.edits import PROD, Edit, compare, plan_of, put

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
    "host and port": (
        put(*ENVIRONMENT, "EnvironmentVariables", 0, "Value", "collector.example.org:4317"),
        "host.collector.example.org",
    ),
    "security group": (
        put("Model", "VpcConfig", "SecurityGroupIds", ["sg-0123456789abcdef1"]),
        "security group.sg-0123456789abcdef1",
    ),
}
FAMILIAR: dict[str, Edit] = {
    "time and version": put(
        *ENVIRONMENT, "EnvironmentVariables", 0, "Value", "at 10:30 image:1.25 https://pypi.org/x"
    ),
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


PRIVATE = plan_of(settings={"private_network": True})
CALL = "import urllib.request\nurllib.request.urlopen('https://{}/rules.json')\n"
ROUTE = {
    "Type": "AWS::EC2::Route",
    "Properties": {"DestinationCidrBlock": "0.0.0.0/0", "NatGatewayId": {"Ref": "Nat"}},
}
SECRETS = {
    "Type": "AWS::EC2::VPCEndpoint",
    "Properties": {"ServiceName": "com.amazonaws.us-east-1.secretsmanager"},
}


def models(folder: Path, host: str) -> Path:
    code = folder / "minilm" / "tokenizer" / "1" / "model.py"
    code.parent.mkdir(parents=True)
    code.write_text(CALL.format(host) if host else "")
    return folder


@pytest.mark.parametrize(
    ("old", "new", "plan", "resource", "count"),
    [
        ("", "rules.example.org", PRIVATE, {}, 1),
        ("old.example.org", "rules.example.org", PRIVATE, {}, 1),
        ("rules.example.org", "rules.example.org", PRIVATE, {}, 0),
        ("", "127.0.0.1", PRIVATE, {}, 0),
        ("", "rules.example.org", PROD, {}, 0),
        ("", "rules.example.org", PRIVATE, {"Route": ROUTE}, 0),
        ("", "secretsmanager.us-east-1.amazonaws.com", PRIVATE, {"Gateway": SECRETS}, 0),
        ("", "sqs.us-east-1.amazonaws.com", PRIVATE, {"Gateway": SECRETS}, 1),
    ],
)
def test_host_of_code_without_a_route(
    old: str, new: str, plan: Any, resource: dict[str, Any], count: int, tmp_path: Path
) -> None:
    comparison = compare(
        RESOURCES,
        {**RESOURCES, **resource},
        plan_after=plan,
        old_models=models(tmp_path / "old", old),
        models=models(tmp_path / "new", new),
    )
    messages = [danger.message for danger in unreachable_hosts(comparison)]
    text = f"prod-text: the private network has no route to {new}, which the code of minilm names"
    assert [message.startswith(text) for message in messages] == [True] * count


def test_host_of_a_variable_without_a_route() -> None:
    after = copy.deepcopy(RESOURCES)
    container = {"Environment": {"COLLECTOR": "grpc://traces.example.org:4317"}}
    after["Model"]["Properties"]["PrimaryContainer"] = container
    for plan, count in ((PRIVATE, 2), (PROD, 1)):
        comparison = compare(RESOURCES, after, plan_before=plan, plan_after=plan)
        result = [danger.message for danger in foreign_targets(comparison)]
        assert len(result) == count
        text = "no route to traces.example.org, which COLLECTOR names"
        assert (text in result[-1]) == (count > 1)
