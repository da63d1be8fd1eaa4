"""The network that an endpoint's instances are in."""

from collections.abc import Iterator
from dataclasses import dataclass

from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_sagemaker as sagemaker

from triton_sagemaker.problems import Problem


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
        if not self.subnets:
            yield Problem("subnets", "none given: write at least one, in production two")
        if not 1 <= len(self.security_groups) <= 5:
            yield Problem(
                "security_groups", f"{len(self.security_groups)} given: write one to five"
            )
