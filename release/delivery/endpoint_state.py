"""Whether an endpoint serves what was deployed."""

import time
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from release.delivery.assembly import StackEndpoint
from release.delivery.steps import say

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_sagemaker import SageMakerClient

WAIT_SECONDS = 30 * 60
POLL_SECONDS = 5.0
AT_REST = ("InService", "Failed", "OutOfService", "UpdateRollbackFailed")


def what_is_wrong(
    sagemaker: "SageMakerClient", cloudformation: "CloudFormationClient", endpoint: StackEndpoint
) -> str | None:
    """Wait until an endpoint is at rest; return what is wrong with it, None if nothing is.

    SageMaker can roll an update back and still answer InService, with the configuration of before:
    tools that wait for InService take that for success
    (https://github.com/hashicorp/terraform-provider-aws/issues/48997). So the configuration is
    compared with the one that CloudFormation made.
    """
    try:
        description = sagemaker.describe_endpoint(EndpointName=endpoint.name)
        deadline, said = time.monotonic() + WAIT_SECONDS, ""
        while description["EndpointStatus"] not in AT_REST and time.monotonic() < deadline:
            if said != description["EndpointStatus"]:
                said = description["EndpointStatus"]
                say(f"  {endpoint.name} is {said}")
            time.sleep(POLL_SECONDS)
            description = sagemaker.describe_endpoint(EndpointName=endpoint.name)
    except ClientError as error:
        return f"{endpoint.name} cannot be described: {error}"
    status, serving = description["EndpointStatus"], description["EndpointConfigName"]
    reason = description.get("FailureReason")
    because = f": {reason}" if reason else ""
    if status != "InService":
        return f"{endpoint.name} is {status}{because}"
    resource = cloudformation.describe_stack_resource(
        StackName=endpoint.stack, LogicalResourceId=endpoint.config
    )["StackResourceDetail"]
    # The physical id is an ARN, which has the name in lower case.
    deployed = resource.get("PhysicalResourceId", "").rpartition("/")[2]
    if serving.lower() == deployed.lower():
        return None
    return (
        f"{endpoint.name} was rolled back although its deploy succeeded: it serves with "
        f"{serving}, and {endpoint.stack} made {deployed}{because}"
    )
