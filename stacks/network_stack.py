"""The private network of a stage: a VPC without internet access."""

from collections.abc import Sequence

from aws_cdk import Environment, Fn, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from stacks.existing import Network
from triton_sagemaker.nag import acknowledge


class NetworkStack(Stack):
    """A VPC with isolated subnets and a gateway endpoint to S3.

    It has one subnet in each of `zones`, or in two zones that CloudFormation selects. SageMaker
    pulls images and writes logs outside of the VPC.

    The gateway endpoint's policy allows the stage's buckets only: `models` to read, `captured` to
    write, so that a model cannot write to a bucket of somebody else. It also allows ECR's bucket of
    image layers (ECR user guide, vpc-endpoints, "Minimum Amazon S3 bucket permissions for Amazon
    ECR"), in case SageMaker pulls an image through the VPC: no document excludes that.

    Security groups do not filter DNS (VPC user guide, vpc-security-groups), so instances need only
    HTTPS. The ID of S3's prefix list, a narrower destination, is not known at synthesis; the
    subnets have no other route.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        env: Environment,
        models: s3.IBucket,
        captured: s3.IBucket | None = None,
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
            nat_gateways=0,
            restrict_default_security_group=False,
            subnet_configuration=[ec2.SubnetConfiguration(name="Isolated", subnet_type=isolated)],
        )
        layers = f"arn:{self.partition}:s3:::prod-{self.region}-starport-layer-bucket/*"
        allowed = {"s3:ListBucket": [models.bucket_arn]}
        allowed["s3:GetObject"] = [models.arn_for_objects("*"), layers]
        if captured:
            allowed["s3:PutObject"] = [captured.arn_for_objects("*")]
        endpoint = self.vpc.add_gateway_endpoint("S3", service=ec2.GatewayVpcEndpointAwsService.S3)
        for action, resources in allowed.items():
            endpoint.add_to_policy(
                iam.PolicyStatement(
                    actions=[action], principals=[iam.AnyPrincipal()], resources=resources
                )
            )
        reason = "Traffic is only possible to S3, through the gateway endpoint."
        acknowledge(self.vpc, reason, "VPC7")
        # A changed description would replace the group, which other stacks import.
        group = ec2.SecurityGroup(
            self,
            "Instances",
            allow_all_outbound=False,
            description="Triton instances: no inbound traffic",
            vpc=self.vpc,
        )
        group.add_egress_rule(
            ec2.Peer.any_ipv4(), ec2.Port.HTTPS, "S3, the only destination with a route"
        )
        self.network = Network(self.vpc, [group])

    @property
    def availability_zones(self) -> list[str]:
        """The availability zones of the subnets."""
        return self._zones
