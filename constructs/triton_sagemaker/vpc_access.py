"""The network that an endpoint's instances are in."""

from collections.abc import Sequence

from aws_cdk import Token
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from triton_sagemaker.problems import Problem
from triton_sagemaker.role_statements import NO_RESOURCES, RoleStatements

LEAST_SUBNETS = 2
"""Developer guide, host-vpc: "You must create at least two subnets in different availability zones
in your private VPC, even if you have only one hosting instance"."""
MOST_SUBNETS = 16
"""API reference of VpcConfig."""
MOST_GROUPS = 5 - 1
"""API reference of VpcConfig; one is the endpoint's own."""
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


class VpcAccess:
    """The access of an endpoint's instances to a VPC; `problems` are what SageMaker would reject.

    Beside `security_groups` there is a group for this endpoint alone, by which its network
    interfaces are found. Nothing comes in through it. Anything goes out, unless there are others:
    then it has no rules.
    """

    def __init__(
        self,
        scope: Construct,
        *,
        vpc: ec2.IVpc | None,
        vpc_subnets: ec2.SubnetSelection | None,
        security_groups: Sequence[ec2.ISecurityGroup] | None,
    ) -> None:
        self.problems = list[Problem]()
        self.own_group_id: str | None = None
        self.groups = list[ec2.ISecurityGroup]()
        self.vpc_config: sagemaker.CfnModel.VpcConfigProperty | None = None
        groups = list(security_groups or ())
        if vpc is None:
            if groups or vpc_subnets:
                self.problems.append(Problem("vpc", "security groups or subnets of none: write it"))
            return
        if len(groups) > MOST_GROUPS:
            what = f"{len(groups)} groups: write at most {MOST_GROUPS}"
            self.problems.append(Problem("security_groups", what))
        own_group = ec2.SecurityGroup(
            scope,
            "SecurityGroup",
            allow_all_outbound=not groups,
            description="Triton instances of one endpoint",
            vpc=vpc,
        )
        self.own_group_id = own_group.security_group_id
        self.groups = groups or [own_group]
        subnets = _subnet_ids(vpc, vpc_subnets or ec2.SubnetSelection())
        if not LEAST_SUBNETS <= len(subnets) <= MOST_SUBNETS:
            what = f"{len(subnets)} chosen: choose {LEAST_SUBNETS} to {MOST_SUBNETS}, in two zones"
            self.problems.append(Problem("vpc_subnets", what))
        self.vpc_config = sagemaker.CfnModel.VpcConfigProperty(
            security_group_ids=[*(group.security_group_id for group in groups), self.own_group_id],
            subnets=subnets,
        )


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


def _subnet_ids(vpc: ec2.IVpc, selection: ec2.SubnetSelection) -> list[str]:
    return vpc.select_subnets(
        availability_zones=selection.availability_zones,
        one_per_az=selection.one_per_az,
        subnet_filters=selection.subnet_filters,
        subnet_group_name=selection.subnet_group_name,
        subnets=selection.subnets,
        subnet_type=selection.subnet_type,
    ).subnet_ids
