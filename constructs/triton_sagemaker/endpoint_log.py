"""Where the instances of an endpoint write."""

from aws_cdk import RemovalPolicy
from aws_cdk import aws_logs as logs
from constructs import Construct


class EndpointLog(Construct):
    """The log group into which SageMaker writes what an endpoint's containers say.

    SageMaker chooses its name (developer guide, logging-cloudwatch). The execution role may not
    make it: late lines of instances that are ended would bring it back after it was deleted, and
    the next deploy would fail on a name that is taken.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        endpoint_name: str,
        retention: logs.RetentionDays = logs.RetentionDays.THREE_MONTHS,
    ) -> None:
        super().__init__(scope, construct_id)
        self.group = logs.LogGroup(
            self,
            "Group",
            log_group_name=f"/aws/sagemaker/Endpoints/{endpoint_name}",
            removal_policy=RemovalPolicy.DESTROY,
            retention=retention,
        )
