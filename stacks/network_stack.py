"""The private network of a stage: a VPC without internet access."""

from collections.abc import Sequence

from aws_cdk import Environment, Fn, Stack
from aws_cdk import aws_ec2 as ec2
from constructs import Construct

from triton_sagemaker.nag import acknowledge


class NetworkStack(Stack):
    """A VPC with isolated subnets and a gateway endpoint to S3.

    It has one subnet in each of `zones`, or in two zones that CloudFormation selects. SageMaker
    pulls images and writes logs outside of the VPC.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        env: Environment,
        zones: Sequence[str] | None = None,
    ) -> None:
        super().__init__(scope, construct_id, env=env)
        # Set explicitly, because the CDK would look them up at synthesis.
        self._zones = list(zones or (Fn.select(number, Fn.get_azs()) for number in range(2)))
        isolated = ec2.SubnetType.PRIVATE_ISOLATED
        self.vpc = ec2.Vpc(
            self,
            "Vpc",
            max_azs=len(self._zones),
            gateway_endpoints={
                "S3": ec2.GatewayVpcEndpointOptions(service=ec2.GatewayVpcEndpointAwsService.S3)
            },
            nat_gateways=0,
            restrict_default_security_group=False,
            subnet_configuration=[ec2.SubnetConfiguration(name="Isolated", subnet_type=isolated)],
        )
        reason = "Traffic is only possible to S3, through the gateway endpoint."
        acknowledge(self.vpc, reason, "VPC7")
        # A changed description would replace the group, which other stacks import.
        self.security_group = ec2.SecurityGroup(
            self, "Instances", description="Triton instances: nothing comes in", vpc=self.vpc
        )

    @property
    def availability_zones(self) -> list[str]:
        """The availability zones of the subnets."""
        return self._zones
