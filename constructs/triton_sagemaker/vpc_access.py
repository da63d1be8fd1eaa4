"""VPC access of an endpoint's instances."""

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
"""EC2's Describe actions support no resources."""
OWN = [
    "ec2:CreateNetworkInterfacePermission",
    "ec2:DeleteNetworkInterface",
    "ec2:DeleteNetworkInterfacePermission",
]
"""Actions on network interfaces that SageMaker has created."""


def own_security_group(
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


def network(vpc: ec2.IVpc, security_groups: Sequence[ec2.ISecurityGroup]) -> Network:
    """Return the network: the private subnets of a VPC, and security groups."""
    return {
        "security_group_ids": [group.security_group_id for group in security_groups],
        "subnets": vpc.select_subnets().subnet_ids,
    }


def attach_to_vpc(role: iam.Role, vpc: ec2.IVpc, statements: RoleStatements) -> None:
    """Allow SageMaker to create and delete the instances' network interfaces, in this VPC only.

    The permissions are a separate policy for each VPC. If an endpoint leaves the VPC,
    CloudFormation deletes this policy after the update; a change of the role's other policy would
    come before it, and the interfaces could not be deleted (as in aws-cdk#34400).

    The condition key `ec2:Vpc` exists for all resources of these actions except for the interface
    of CreateNetworkInterface (service authorization reference, Amazon EC2).
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
