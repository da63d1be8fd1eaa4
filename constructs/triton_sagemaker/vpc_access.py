"""VPC access of an endpoint's instances."""

from collections.abc import Sequence
from functools import partial

from aws_cdk import Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from triton_sagemaker.allow import NO_RESOURCES, Conditions, StackArns, allow_statement
from triton_sagemaker.hosting_mode import VpcConfig

DESCRIBE_ACTIONS = [
    "ec2:DescribeDhcpOptions",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcEndpoints",
    "ec2:DescribeVpcs",
]
"""Actions that support no resource ARNs. Source: developer guide, host-vpc."""
INTERFACE_ACTIONS = [
    "ec2:CreateNetworkInterfacePermission",
    "ec2:DeleteNetworkInterface",
    "ec2:DeleteNetworkInterfacePermission",
]
"""Actions on network interfaces that SageMaker has created."""


def endpoint_security_group(
    scope: Construct, vpc: ec2.IVpc, *, allow_all_outbound: bool
) -> ec2.SecurityGroup:
    """Return a security group for one endpoint, which identifies its network interfaces.

    It allows no inbound traffic.
    """
    return ec2.SecurityGroup(
        scope,
        "SecurityGroup",
        allow_all_outbound=allow_all_outbound,
        description="Triton instances of one endpoint",
        vpc=vpc,
    )


def create_vpc_config(vpc: ec2.IVpc, security_groups: Sequence[ec2.ISecurityGroup]) -> VpcConfig:
    """Return the VpcConfig with the private subnets of a VPC, and security groups."""
    return {
        "security_group_ids": [group.security_group_id for group in security_groups],
        "subnets": vpc.select_subnets().subnet_ids,
    }


def create_vpc_policy(scope: Construct, role: iam.Role, vpc: ec2.IVpc, arns: StackArns) -> None:
    """Allow SageMaker to create and delete the instances' network interfaces, in this VPC only.

    The permissions are a separate policy for each VPC. If an endpoint leaves the VPC,
    CloudFormation deletes this policy after the update. It would change the role's default policy
    before the update, and the interfaces could not be deleted (as in aws-cdk#34400).

    The condition key `ec2:Vpc` exists for all resources of these actions except for the interface
    of CreateNetworkInterface (service authorization reference, Amazon EC2).
    """
    vpc_id = vpc.vpc_id
    name = vpc.node.addr if Token.is_unresolved(vpc_id) else vpc_id
    interfaces = [arns.arn("ec2", "network-interface/*")]
    attached = [arns.arn("ec2", f"{kind}/*") for kind in ("security-group", "subnet")]
    in_vpc: Conditions = {"ArnEquals": {"ec2:Vpc": arns.arn("ec2", f"vpc/{vpc_id}")}}
    create = ["ec2:CreateNetworkInterface"]
    reason = "SageMaker creates and deletes network interfaces, whose IDs are not known before."
    allow = partial(allow_statement, scope)
    iam.Policy(
        role,
        f"VpcPolicy-{name}",
        roles=[role],
        statements=[
            allow(DESCRIBE_ACTIONS, ["*"], NO_RESOURCES, sid="SeeNetwork"),
            allow(create, interfaces, reason, sid="CreateInterfaces"),
            allow(create, attached, reason, sid="AttachToVpc", conditions=in_vpc),
            allow(INTERFACE_ACTIONS, interfaces, reason, sid="OwnInterfaces", conditions=in_vpc),
        ],
    )
