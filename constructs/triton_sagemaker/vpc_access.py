"""The VPC network of an endpoint's instances."""

from collections.abc import Sequence

from aws_cdk import Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from triton_sagemaker.hosting_mode import Network
from triton_sagemaker.role_statements import NO_RESOURCES, RoleStatements

DESCRIBE = [
    "ec2:DescribeDhcpOptions",
    "ec2:DescribeNetworkInterfaces",
    "ec2:DescribeSecurityGroups",
    "ec2:DescribeSubnets",
    "ec2:DescribeVpcs",
]
"""Describe actions of EC2 support no resources."""
OWN = [
    "ec2:CreateNetworkInterfacePermission",
    "ec2:DeleteNetworkInterface",
    "ec2:DeleteNetworkInterfacePermission",
]
"""Actions on network interfaces that SageMaker created."""


def own_security_group(
    scope: Construct, vpc: ec2.IVpc, *, allow_all_outbound: bool
) -> ec2.SecurityGroup:
    """Return a security group for one endpoint, without inbound rules.

    The update checks find the endpoint's network interfaces by this group.
    """
    return ec2.SecurityGroup(
        scope,
        "SecurityGroup",
        allow_all_outbound=allow_all_outbound,
        description="Triton instances of one endpoint",
        vpc=vpc,
    )


def network(vpc: ec2.IVpc, security_groups: Sequence[ec2.ISecurityGroup]) -> Network:
    """Return the VpcConfig with the private subnets of a VPC."""
    return {
        "security_group_ids": [group.security_group_id for group in security_groups],
        "subnets": vpc.select_subnets().subnet_ids,
    }


def attach_to_vpc(role: iam.Role, vpc: ec2.IVpc, statements: RoleStatements) -> None:
    """Allow SageMaker to create and delete network interfaces of instances in one VPC.

    The statements are in a separate policy for each VPC: if the endpoint leaves the VPC,
    CloudFormation deletes the policy after the update. Statements in the role's main policy would
    be removed before it, and SageMaker could not delete the interfaces (as in aws-cdk#34400).

    The condition key `ec2:Vpc` of CreateNetworkInterface applies to subnets and security groups,
    but not to the interface; for the other actions it applies to the interface (service
    authorization reference, Amazon EC2).
    """
    vpc_id, allow, arn = vpc.vpc_id, statements.allow, statements.arn
    interfaces = [arn("ec2", "network-interface/*")]
    others = [arn("ec2", f"{kind}/*") for kind in ("security-group", "subnet")]
    in_vpc = {"ArnEquals": {"ec2:Vpc": arn("ec2", f"vpc/{vpc_id}")}}
    create = ["ec2:CreateNetworkInterface"]
    reason = "SageMaker makes and removes network interfaces, whose IDs are not known before."
    name = vpc.node.addr if Token.is_unresolved(vpc_id) else vpc_id
    iam.Policy(
        role,
        f"VpcPolicy-{name}",
        roles=[role],
        statements=[
            allow("SeeNetwork", DESCRIBE, ["*"], wildcards=NO_RESOURCES),
            allow("CreateInterfaces", create, interfaces, wildcards=reason),
            allow("AttachToVpc", create, others, in_vpc, wildcards=reason),
            allow("OwnInterfaces", OWN, interfaces, in_vpc, wildcards=reason),
        ],
    )
