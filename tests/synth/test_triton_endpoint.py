"""TritonEndpoint: models, configuration, updates, network, capture and access."""

import json
from typing import Any

import pytest
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_ecr as ecr
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3

from tests.synth.conftest import CONTEXT
from tests.synth.endpoints import SampleStack, properties_of
from triton_sagemaker import ContainerImage, TritonEndpoint

MODEL, CONFIG, ENDPOINT = (
    f"AWS::SageMaker::{kind}" for kind in ("Model", "EndpointConfig", "Endpoint")
)


def test_variants_have_weights_and_their_own_models(sample: SampleStack) -> None:
    sample.endpoint(
        sample.variant(variant_name="A", initial_variant_weight=9),
        sample.variant(variant_name="B", initial_variant_weight=1),
    )
    sample.template().resource_count_is(MODEL, 2)
    variants = sample.properties(CONFIG)["ProductionVariants"]
    assert [(variant["VariantName"], variant["InitialVariantWeight"]) for variant in variants] == [
        ("A", 9),
        ("B", 1),
    ]
    assert len({json.dumps(variant["ModelName"]) for variant in variants}) == 2


def test_image_of_ones_own_is_pulled_by_its_digest(sample: SampleStack) -> None:
    digest = f"sha256:{'0a' * 32}"
    repositories = {
        "own": ecr.Repository(sample.stack, "Triton"),
        "other": ecr.Repository.from_repository_arn(
            sample.stack, "Other", "arn:aws:ecr:us-east-1:444455556666:repository/teams/triton"
        ),
    }
    variants = [
        sample.variant(
            variant_name=name,
            hosting=sample.single_model(),
            container=sample.container(
                image=ContainerImage.from_ecr_repository(repository, digest)
            ),
        )
        for name, repository in repositories.items()
    ]
    sample.endpoint(*variants)
    models = {name: json.dumps(sample.properties(MODEL, f"Model{name}")) for name in repositories}
    assert all(f"@{digest}" in model for model in models.values())
    assert "444455556666.dkr.ecr.us-east-1." in models["other"]
    own = sample.stack.resolve(repositories["own"].repository_arn)
    assert _statements(sample)["PullImages"]["Resource"] == [
        own,
        "arn:aws:ecr:us-east-1:444455556666:repository/teams/triton",
    ]


def test_unknown_variant_error_lists_the_variants(sample: SampleStack) -> None:
    endpoint = sample.endpoint(sample.variant(variant_name="A"), sample.variant(variant_name="B"))
    with pytest.raises(ValueError, match=r'variant: no "Typo": write one of A, B$'):
        endpoint.find_instance_production_variant("Typo")


# Network, encryption, capture


def test_selected_subnets_are_used(sample: SampleStack) -> None:
    vpc = ec2.Vpc(sample.stack, "Vpc", max_azs=2)
    public = ec2.SubnetSelection(subnet_type=ec2.SubnetType.PUBLIC)
    sample.endpoint(vpc=vpc, vpc_subnets=public)
    assert sample.properties(MODEL)["VpcConfig"]["Subnets"] == sample.stack.resolve(
        [subnet.subnet_id for subnet in vpc.public_subnets]
    )


ROLE = "arn:aws:iam::111122223333:role/models/serving"


def imported_vpc(sample: SampleStack, vpc_id: str) -> ec2.IVpc:
    zones, subnets = ["a", "b"], ["subnet-1", "subnet-2"]
    return ec2.Vpc.from_vpc_attributes(
        sample.stack, "Vpc", availability_zones=zones, private_subnet_ids=subnets, vpc_id=vpc_id
    )


@pytest.mark.parametrize("mutable", [True, False])
def test_endpoints_share_a_given_role(mutable: bool) -> None:
    sample = SampleStack(CONTEXT)
    vpc = imported_vpc(sample, "vpc-1")
    role = iam.Role.from_role_arn(sample.stack, "Given", ROLE, mutable=mutable)
    for name in ("first", "second"):
        TritonEndpoint(
            sample.stack, name, endpoint_name=name, variants=[sample.variant()], role=role, vpc=vpc
        )
    template = sample.template()
    template.resource_count_is("AWS::IAM::Role", 0)
    models, policies = (template.find_resources(kind) for kind in (MODEL, "AWS::IAM::Policy"))
    assert {model["Properties"]["ExecutionRoleArn"] for model in models.values()} == {ROLE}
    assert len(policies) == (3 if mutable else 0)  # the shared one, and one for the VPC of each
    for model in models.values():
        assert len(policies.keys() & model.get("DependsOn", [])) == (2 if mutable else 0)
    for policy in policies.values():
        assert policy["Properties"]["Roles"] == ["serving"]
        statements = policy["Properties"]["PolicyDocument"]["Statement"]
        sids = [statement["Sid"] for statement in statements if "Sid" in statement]
        assert len(sids) == len(set(sids))


def test_each_vpc_has_its_own_policy() -> None:
    # If both VPCs had the same policy, its change would remove the permission to delete the
    # network interfaces in the old VPC before they are deleted.
    names = []
    for vpc_id in ("vpc-1", "vpc-2"):
        sample = SampleStack()
        sample.endpoint(vpc=imported_vpc(sample, vpc_id))
        policies = sample.template().find_resources("AWS::IAM::Policy")
        (name,) = (policy for policy in policies if "VpcPolicy" in policy)
        assert f":vpc/{vpc_id}" in json.dumps(policies[name])
        names.append(name)
    assert names[0] != names[1]


# Access


def test_bucket_without_key_needs_no_decrypt_permission(sample: SampleStack) -> None:
    bucket = s3.Bucket.from_bucket_name(sample.stack, "Theirs", "their-models")
    sample.endpoint(sample.variant(hosting=sample.multi_model(bucket=bucket)))
    arn = _statements(sample)["ReadOwnArchives"]["Resource"]["Fn::Join"][1]
    assert arn[-1] == ":s3:::their-models/test/*"
    assert _resources(sample, "kms:Decrypt") == []


def test_grant_invoke_is_limited_to_the_endpoint(sample: SampleStack) -> None:
    sample.endpoint().grant_invoke(iam.User(sample.stack, "User"))
    statement = _user_statement(sample)
    assert statement["Action"] == "sagemaker:InvokeEndpoint"
    assert statement["Resource"]["Fn::Join"][1][-1] == ":endpoint/under-test"
    assert "Condition" not in statement


def test_grant_invoke_by_model(sample: SampleStack) -> None:
    sample.endpoint().grant_invoke(iam.User(sample.stack, "User"), models=["minilm", "bert"])
    assert _user_statement(sample)["Condition"] == {
        "StringLike": {
            "sagemaker:TargetModel": [
                "minilm.tar.gz",
                "minilm-????????????.tar.gz",
                "published/minilm-????????????.tar.gz",
                "bert.tar.gz",
                "bert-????????????.tar.gz",
                "published/bert-????????????.tar.gz",
            ]
        }
    }


def test_grant_invoke_by_model_needs_multi_model_hosting(sample: SampleStack) -> None:
    endpoint = sample.endpoint(sample.variant(hosting=sample.single_model()))
    with pytest.raises(ValueError, match="SingleModelHosting has no TargetModel"):
        endpoint.grant_invoke(iam.User(sample.stack, "User"), models=["minilm"])


def test_grant_invoke_of_an_imported_endpoint(sample: SampleStack) -> None:
    endpoint = TritonEndpoint.from_endpoint_name(sample.stack, "Text", "text")
    endpoint.grant_invoke(iam.User(sample.stack, "User"), models=["minilm"])
    statement = _user_statement(sample)
    assert statement["Resource"]["Fn::Join"][1][-1] == ":endpoint/text"
    assert "minilm-????????????.tar.gz" in str(statement["Condition"])


def _statements(sample: SampleStack) -> dict[str, dict[str, Any]]:
    """Return the statements of the role by Sid."""
    return {
        statement["Sid"]: statement for statement in _role_statements(sample) if "Sid" in statement
    }


def _resources(sample: SampleStack, action: str) -> list[Any]:
    """Return the resources of the statements with an action; grant_* of the CDK sets no Sid."""
    statements = _role_statements(sample)
    return [statement["Resource"] for statement in statements if action in statement["Action"]]


def _role_statements(sample: SampleStack) -> list[dict[str, Any]]:
    return [
        statement
        for policy in properties_of(sample.template(), "AWS::IAM::Policy", "Role")
        for statement in policy["PolicyDocument"]["Statement"]
    ]


def _user_statement(sample: SampleStack) -> dict[str, Any]:
    (statement,) = sample.properties("AWS::IAM::Policy", "User")["PolicyDocument"]["Statement"]
    return dict(statement)
