"""What an endpoint's instances may do."""

from aws_cdk import Stack
from aws_cdk import aws_iam as iam

from constructs import Construct
from triton_sagemaker.model_bucket import ModelBucket


class EndpointRole(Construct):
    """The execution role of a multi-model endpoint: read its own archives, pull its image, log.

    Sources: the CreateModel permissions in the SageMaker developer guide, without its wildcards.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        bucket: ModelBucket,
        prefix: str,
        endpoint_name: str,
        image: str,
    ) -> None:
        super().__init__(scope, construct_id)
        stack = Stack.of(self)
        self.role = iam.Role(
            self,
            "Role",
            assumed_by=iam.ServicePrincipal("sagemaker.amazonaws.com"),
            description=f"Instances of the endpoint {endpoint_name}",
        )
        account, _, _, region = image.split("/")[0].split(".")[:4]
        repository = image.split("/")[1].split(":")[0]
        log_group = f"/aws/sagemaker/Endpoints/{endpoint_name}"
        for statement in (
            iam.PolicyStatement(
                sid="ReadOwnArchives",
                actions=["s3:GetObject"],
                resources=[bucket.bucket.arn_for_objects(f"{prefix}*")],
            ),
            iam.PolicyStatement(
                sid="ListOwnArchives",
                actions=["s3:ListBucket"],
                resources=[bucket.bucket.bucket_arn],
                conditions={"StringLike": {"s3:prefix": f"{prefix}*"}},
            ),
            iam.PolicyStatement(
                sid="DecryptArchives", actions=["kms:Decrypt"], resources=[bucket.key.key_arn]
            ),
            iam.PolicyStatement(
                sid="PullImage",
                actions=[
                    "ecr:BatchCheckLayerAvailability",
                    "ecr:BatchGetImage",
                    "ecr:GetDownloadUrlForLayer",
                ],
                resources=[f"arn:{stack.partition}:ecr:{region}:{account}:repository/{repository}"],
            ),
            iam.PolicyStatement(
                sid="LogInToRegistries",  # a token for the registry as a whole: no resource exists
                actions=["ecr:GetAuthorizationToken"],
                resources=["*"],
            ),
            iam.PolicyStatement(
                sid="WriteOwnLogs",
                actions=["logs:CreateLogGroup", "logs:CreateLogStream", "logs:PutLogEvents"],
                resources=[
                    stack.format_arn(
                        service="logs", resource=f"log-group:{log_group}*", arn_format=None
                    )
                ],
            ),
            iam.PolicyStatement(
                sid="PublishInstanceMetrics",  # CloudWatch has no resources for metrics
                actions=["cloudwatch:PutMetricData"],
                resources=["*"],
                conditions={
                    "StringLike": {"cloudwatch:namespace": ["AWS/SageMaker*", "/aws/sagemaker/*"]}
                },
            ),
        ):
            self.role.add_to_policy(statement)
