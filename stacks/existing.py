"""Constructs of the resources that exist already."""

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import Annotations, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from stages.schema.existing import ExistingConfig


@dataclass(frozen=True)
class Network:
    """The VPC of the instances; without `subnets`, in its private subnets."""

    vpc: ec2.IVpc
    security_groups: Sequence[ec2.ISecurityGroup] = ()
    subnets: ec2.SubnetSelection | None = None


@dataclass(frozen=True)
class ExistingResources:
    """The resources that the stage's file names; None for those that the stage creates."""

    network: Network | None
    key: kms.IKey | None
    role: iam.IRole | None
    captured: s3.IBucket | None


def existing_resources(scope: Stack, config: ExistingConfig) -> ExistingResources:
    """Return constructs of existing resources, which all stacks of the stage can use."""
    key = role = captured = None
    if config.kms_key_arn:
        key = kms.Key.from_key_arn(scope, "ExistingKey", config.kms_key_arn)
    if arn := config.execution_role_arn:
        role = iam.Role.from_role_arn(scope, "ExistingRole", arn, mutable=False)
    if name := config.capture_bucket:
        captured = s3.Bucket.from_bucket_attributes(
            scope, "ExistingCaptured", bucket_name=name, encryption_key=key
        )
    network = _network(scope, config, config.vpc_id) if config.vpc_id else None
    return ExistingResources(network, key, role, captured)


def _network(scope: Stack, config: ExistingConfig, vpc_id: str) -> Network:
    # The CDK needs a zone, and uses it for subnets of the VPC only, which are given separately.
    vpc = ec2.Vpc.from_vpc_attributes(
        scope, "ExistingVpc", vpc_id=vpc_id, availability_zones=["not known"]
    )
    subnets = []
    for subnet_id in config.subnet_ids:
        subnet = ec2.Subnet.from_subnet_id(scope, subnet_id, subnet_id)
        # The route table is for endpoints, which the stage does not add to the VPC.
        Annotations.of(subnet).acknowledge_warning("@aws-cdk/aws-ec2:noSubnetRouteTableId")
        subnets.append(subnet)
    groups = [
        ec2.SecurityGroup.from_security_group_id(scope, group_id, group_id, mutable=False)
        for group_id in config.security_group_ids
    ]
    return Network(vpc, groups, ec2.SubnetSelection(subnets=subnets))
