"""The network that an endpoint's instances are in."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, kw_only=True)
class VpcAccess:
    """What `TritonEndpoint` was told of its VPC, which is there if anything of it is."""

    vpc: ec2.IVpc | None
    vpc_subnets: ec2.SubnetSelection | None
    security_groups: Sequence[ec2.ISecurityGroup] | None

    def own_group(self, scope: Construct) -> ec2.SecurityGroup | None:
        """Return a security group for one endpoint alone, which tells its network interfaces.

        Nothing comes in. Anything goes out, unless groups are given: then it has no rules.
        """
        if not self.vpc:
            return None
        return ec2.SecurityGroup(
            scope,
            "SecurityGroup",
            allow_all_outbound=not self.security_groups,
            description="Triton instances of one endpoint",
            vpc=self.vpc,
        )

    def connections(self, own_group: ec2.ISecurityGroup | None) -> ec2.Connections | None:
        """Return the security groups that have the rules."""
        if not own_group:
            return None
        return ec2.Connections(security_groups=list(self.security_groups or [own_group]))

    def property(
        self, own_group: ec2.ISecurityGroup | None
    ) -> sagemaker.CfnModel.VpcConfigProperty | None:
        """Return the Model's VpcConfig."""
        if not (self.vpc and own_group):
            return None
        groups = [*(self.security_groups or ()), own_group]
        return sagemaker.CfnModel.VpcConfigProperty(
            security_group_ids=[group.security_group_id for group in groups],
            subnets=_subnet_ids(self.vpc, self.vpc_subnets),
        )

    def problems(self) -> Iterator[Problem]:
        """Yield what SageMaker would refuse."""
        if self.vpc is None:
            for name in ("vpc_subnets", "security_groups"):
                if getattr(self, name) is not None:
                    yield Problem(name, "there is no VPC: write vpc too, or remove it")
            return
        try:
            count = len(_subnet_ids(self.vpc, self.vpc_subnets))
        except RuntimeError as error:  # the CDK's, for subnets that are not there: "Kind: what"
            yield Problem("vpc_subnets", re.sub(r"^\w+: ", "", str(error)))
        else:
            if not LEAST_SUBNETS <= count <= MOST_SUBNETS:
                yield Problem(
                    "vpc_subnets",
                    f"{count} chosen: choose {LEAST_SUBNETS} to {MOST_SUBNETS}, in different zones",
                )
        if self.security_groups is not None and not 1 <= len(self.security_groups) <= MOST_GROUPS:
            count = len(self.security_groups)
            yield Problem("security_groups", f"{count} given: write one to {MOST_GROUPS}")


def _subnet_ids(vpc: ec2.IVpc, chosen: ec2.SubnetSelection | None) -> list[str]:
    asked = chosen or ec2.SubnetSelection()
    return vpc.select_subnets(
        availability_zones=asked.availability_zones,
        one_per_az=asked.one_per_az,
        subnet_filters=asked.subnet_filters,
        subnet_group_name=asked.subnet_group_name,
        subnets=asked.subnets,
        subnet_type=asked.subnet_type,
    ).subnet_ids
