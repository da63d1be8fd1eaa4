"""The network that an endpoint's instances are in."""

import re
from collections.abc import Sequence

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_sagemaker as sagemaker
from constructs import Construct

from triton_sagemaker.problems import Problem

LEAST_SUBNETS = 2
"""Developer guide, host-vpc: "You must create at least two subnets in different availability zones
in your private VPC, even if you have only one hosting instance"."""
MOST_SUBNETS = 16
"""API reference of VpcConfig."""
MOST_GROUPS = 5 - 1
"""API reference of VpcConfig; one is the endpoint's own."""


class VpcAccess:
    """The access of an endpoint's instances to a VPC; `problems` are what SageMaker would refuse.

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
        self.connections: ec2.Connections | None = None
        self.vpc_config: sagemaker.CfnModel.VpcConfigProperty | None = None
        if vpc is None:
            for name, value in (("vpc_subnets", vpc_subnets), ("security_groups", security_groups)):
                if value is not None:
                    what = "there is no VPC: write vpc too, or remove it"
                    self.problems.append(Problem(name, what))
            return
        groups = list(security_groups or ())
        if security_groups is not None and not 1 <= len(groups) <= MOST_GROUPS:
            what = f"{len(groups)} given: write one to {MOST_GROUPS}"
            self.problems.append(Problem("security_groups", what))
        own_group = ec2.SecurityGroup(
            scope,
            "SecurityGroup",
            allow_all_outbound=not groups,
            description="Triton instances of one endpoint",
            vpc=vpc,
        )
        self.own_group_id = own_group.security_group_id
        self.connections = ec2.Connections(security_groups=groups or [own_group])
        self.vpc_config = sagemaker.CfnModel.VpcConfigProperty(
            security_group_ids=[*(group.security_group_id for group in groups), self.own_group_id],
            subnets=self._subnet_ids(vpc, vpc_subnets or ec2.SubnetSelection()),
        )

    def _subnet_ids(self, vpc: ec2.IVpc, selection: ec2.SubnetSelection) -> list[str]:
        try:
            subnet_ids = vpc.select_subnets(
                availability_zones=selection.availability_zones,
                one_per_az=selection.one_per_az,
                subnet_filters=selection.subnet_filters,
                subnet_group_name=selection.subnet_group_name,
                subnets=selection.subnets,
                subnet_type=selection.subnet_type,
            ).subnet_ids
        except RuntimeError as error:  # the CDK's, "Kind: message", for subnets that do not exist
            self.problems.append(Problem("vpc_subnets", re.sub(r"^\w+: ", "", str(error))))
            return []
        if not LEAST_SUBNETS <= len(subnet_ids) <= MOST_SUBNETS:
            what = (
                f"{len(subnet_ids)} chosen: choose {LEAST_SUBNETS} to {MOST_SUBNETS}, in different "
                "zones"
            )
            self.problems.append(Problem("vpc_subnets", what))
        return subnet_ids
