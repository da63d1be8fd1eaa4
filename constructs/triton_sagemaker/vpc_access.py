"""The network that an endpoint's instances are in."""

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
"""EC2's Describe calls know no resources."""
OWN = [
    "ec2:CreateNetworkInterfacePermission",
    "ec2:DeleteNetworkInterface",
    "ec2:DeleteNetworkInterfacePermission",
]
"""Actions on interfaces that SageMaker made."""


def own_security_group(
    scope: Construct, vpc: ec2.IVpc, *, allow_all_outbound: bool
) -> ec2.SecurityGroup:
    """Return a security group of one endpoint alone, by which its network interfaces are found.

    Nothing comes in through it.
    """
    return ec2.SecurityGroup(
        scope,
        "SecurityGroup",
        allow_all_outbound=allow_all_outbound,
        description="Triton instances of one endpoint",
        vpc=vpc,
    )


def network(vpc: ec2.IVpc, security_groups: Sequence[ec2.ISecurityGroup]) -> Network:
    """Return the private subnets of a VPC with security groups."""
    return {
        "security_group_ids": [group.security_group_id for group in security_groups],
        "subnets": vpc.select_subnets().subnet_ids,
    }


def attach_to_vpc(role: iam.Role, vpc: ec2.IVpc, statements: RoleStatements) -> None:
    """Let SageMaker make and delete the instances' network interfaces in their VPC alone.

    By a policy of its own for each VPC, which an endpoint that leaves the VPC loses after the
    update: of the role's other policy it would before, and the interfaces would stay (as
    aws-cdk#34400).

    Of CreateNetworkInterface, the interface knows no `ec2:Vpc`, and its subnet and groups do; of
    the other actions, the interface does (service authorization reference, Amazon EC2).
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
