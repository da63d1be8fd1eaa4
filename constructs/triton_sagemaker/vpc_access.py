"""VPC access of an endpoint's instances."""

from collections.abc import Sequence
from functools import partial

from aws_cdk import Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from constructs import Construct

from triton_sagemaker.allow import NO_RESOURCES, Conditions, StackArns, allow_statement
from triton_sagemaker.hosting_mode import VpcConfig
from triton_sagemaker.problems import Problem

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


def create_vpc_config(
    vpc: ec2.IVpc,
    selection: ec2.SubnetSelection | None,
    security_groups: Sequence[ec2.ISecurityGroup],
) -> tuple[VpcConfig, list[Problem]]:
    """Return the VpcConfig with the selected or private subnets of a VPC, and its problems.

    SageMaker requires "at least two subnets in different availability zones in your private VPC"
    (developer guide, host-vpc).
    """
    argument, subnets = "vpc_subnets" if selection else "vpc", list[ec2.ISubnet]()
    problem = "no subnet matches: write vpc_subnets, or import the VPC with its private subnets"
    try:
        subnets, is_public = _selected_subnets(vpc, selection)
    except RuntimeError:  # the CDK's error about an empty selection
        pass
    else:
        zones = {_zone(subnet) for subnet in subnets}
        problem = ""
        if is_public and not selection:
            problem = (
                "has only public subnets, in which instances get no public address: import its "
                "private subnets, or write vpc_subnets"
            )
        elif len(zones) < 2:
            problem = (
                f"{len(subnets)} subnet(s) in one availability zone, and SageMaker needs subnets "
                "in two zones: add a subnet in another zone"
            )
    config: VpcConfig = {
        "security_group_ids": [group.security_group_id for group in security_groups],
        "subnets": [subnet.subnet_id for subnet in subnets],
    }
    return config, [Problem(argument, problem)] if problem else []


def _selected_subnets(
    vpc: ec2.IVpc, selection: ec2.SubnetSelection | None
) -> tuple[list[ec2.ISubnet], bool]:
    """Return the subnets, and whether one of them is public. Raise `RuntimeError` without any."""
    if selection is None:
        selected = vpc.select_subnets()
    elif selection.subnets is not None:  # `select_subnets` would read their zones
        return selection.subnets, False
    else:
        selected = vpc.select_subnets(
            availability_zones=selection.availability_zones,
            one_per_az=selection.one_per_az,
            subnet_filters=selection.subnet_filters,
            subnet_group_name=selection.subnet_group_name,
            subnet_type=selection.subnet_type,
        )
    return selected.subnets, selected.has_public


def _zone(subnet: ec2.ISubnet) -> str:
    """Return the zone of a subnet; of one that is imported by its ID only, the ID."""
    try:
        return subnet.availability_zone
    except RuntimeError:
        return subnet.subnet_id


def create_vpc_policy(
    scope: Construct, role: iam.IRole, vpc: ec2.IVpc, arns: StackArns, *, parent: Construct
) -> None:
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
    statement = partial(allow_statement, scope)
    policy = iam.Policy(
        parent,
        f"VpcPolicy-{name}",
        statements=[
            statement(DESCRIBE_ACTIONS, ["*"], NO_RESOURCES, sid="SeeNetwork"),
            statement(create, interfaces, reason, sid="CreateInterfaces"),
            statement(create, attached, reason, sid="AttachToVpc", conditions=in_vpc),
            statement(
                INTERFACE_ACTIONS, interfaces, reason, sid="OwnInterfaces", conditions=in_vpc
            ),
        ],
    )
    role.attach_inline_policy(policy)  # without effect on a role that may not be changed
