"""Stages that use a VPC, a key, a role, a boundary, a bootstrap stack and a bucket of others."""

import json
from pathlib import Path
from typing import Any

from aws_cdk.cx_api import CloudAssembly

from tests.synth.conftest import assembly_of, templates_of
from tests.synth.endpoints import properties_of
from tests.synth.every_stage import ACCOUNT, EVERY_STAGE

EXISTING: dict[str, Any] = EVERY_STAGE["existing"]["existing"]


def of_type(templates: dict[str, dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    """Return the properties of all resources of a type."""
    return [each for template in templates.values() for each in properties_of(template, kind)]


def test_instances_are_in_the_existing_network() -> None:
    templates = templates_of("existing")
    assert of_type(templates, "AWS::EC2::VPC") == []
    models = of_type(templates, "AWS::SageMaker::Model")
    assert len(models) == 2
    for model in models:
        assert model["VpcConfig"]["Subnets"] == EXISTING["subnet_ids"]
        groups = model["VpcConfig"]["SecurityGroupIds"]
        assert groups[0] == EXISTING["security_group_ids"][0]
        assert "Fn::GetAtt" in groups[1]  # the endpoint's own group
    for group in of_type(templates, "AWS::EC2::SecurityGroup"):
        assert group["VpcId"] == EXISTING["vpc_id"]


def test_existing_key_encrypts_archives_records_and_volumes() -> None:
    templates = templates_of("existing")
    (key,) = of_type(templates, "AWS::KMS::Key")
    assert "notifications" in key["Description"]  # the only own key is of the alarm topic
    (bucket,) = (
        bucket
        for bucket in of_type(templates, "AWS::S3::Bucket")
        if "LoggingConfiguration" in bucket  # the other bucket has its access logs
    )
    assert EXISTING["kms_key_arn"] in json.dumps(bucket["BucketEncryption"])
    (table,) = of_type(templates, "AWS::DynamoDB::Table")
    assert table["SSESpecification"]["KMSMasterKeyId"] == EXISTING["kms_key_arn"]
    configs = of_type(templates, "AWS::SageMaker::EndpointConfig")
    assert {config.get("KmsKeyId") for config in configs} == {None, EXISTING["kms_key_arn"]}
    (capture,) = (c["DataCaptureConfig"] for c in configs if "DataCaptureConfig" in c)
    assert capture["DestinationS3Uri"] == "s3://acme-captures/existing/text"
    assert capture["KmsKeyId"] == EXISTING["kms_key_arn"]


def test_every_role_has_the_boundary() -> None:
    roles = of_type(templates_of("existing"), "AWS::IAM::Role")
    assert len(roles) > 5
    boundaries = {role.get("PermissionsBoundary") for role in roles}
    assert boundaries == {f"arn:aws:iam::{ACCOUNT}:policy/teams/boundary"}


def test_every_stack_uses_the_bootstrap_stack_of_the_qualifier() -> None:
    assembly: CloudAssembly = assembly_of("existing")
    manifest = Path(assembly.directory, "manifest.json").read_text()
    templates = json.dumps([stack.template for stack in assembly.stacks])
    assert "cdk-acme-deploy-role-" in manifest
    assert "cdk-acme-deploy-role-" in templates  # which the delivery role may assume
    assert "/cdk-bootstrap/acme/version" in templates
    assert "hnb659fds" not in manifest + templates


def test_existing_role_is_not_changed() -> None:
    role = EVERY_STAGE["role"]["existing"]["execution_role_arn"]
    templates = templates_of("role")
    models = of_type(templates, "AWS::SageMaker::Model")
    assert [model["ExecutionRoleArn"] for model in models] == [role, role]
    for stack in ("role-text", "role-vision"):
        types = {resource["Type"] for resource in templates[stack]["Resources"].values()}
        assert not types & {"AWS::IAM::Role", "AWS::IAM::Policy", "AWS::IAM::ManagedPolicy"}
