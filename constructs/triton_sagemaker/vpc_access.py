"""The network that an endpoint's instances are in."""

from collections.abc import Iterator
from dataclasses import dataclass

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_sagemaker as sagemaker

from triton_sagemaker.problems import Problem

LEAST_SUBNETS = 2
"""Developer guide, host-vpc: "You must create at least two subnets in different availability zones
in your private VPC, even if you have only one hosting instance"."""
MOST_SUBNETS = 16
"""API reference of VpcConfig."""


@dataclass(frozen=True, kw_only=True)
class VpcAccess:
    """The subnets and security groups of the instances.

    Instances without a way out need an S3 gateway endpoint in the VPC to load models.
    """

    subnets: list[ec2.ISubnet]
    security_groups: list[ec2.ISecurityGroup]

    def property(self) -> sagemaker.CfnModel.VpcConfigProperty:
        """Return the Model's VpcConfig."""
        return sagemaker.CfnModel.VpcConfigProperty(
            security_group_ids=[it.security_group_id for it in self.security_groups],
            subnets=[it.subnet_id for it in self.subnets],
        )

    def problems(self) -> Iterator[Problem]:
        """Yield what SageMaker would refuse."""
        if not LEAST_SUBNETS <= len(self.subnets) <= MOST_SUBNETS:
            yield Problem(
                "subnets",
                f"{len(self.subnets)} given: write {LEAST_SUBNETS} to {MOST_SUBNETS}, in different "
                "zones",
            )
        if not 1 <= len(self.security_groups) <= 5:
            yield Problem(
                "security_groups", f"{len(self.security_groups)} given: write one to five"
            )
