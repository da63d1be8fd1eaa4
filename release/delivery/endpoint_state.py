"""Whether an endpoint serves what was deployed."""

import time
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from release.delivery.assembly import StackEndpoint
from release.delivery.credentials import expired
from release.delivery.errors import Unfinished
from release.delivery.steps import say
from release.delivery.under_way import AT_REST

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_sagemaker import SageMakerClient

POLL_SECONDS = 5.0


def what_is_wrong(
    sagemaker: "SageMakerClient",
    cloudformation: "CloudFormationClient",
    endpoint: StackEndpoint,
    *,
    deadline: float,
) -> str | None:
    """Wait until an endpoint is at rest; return what is wrong with it, None if nothing is.

    Raises `Unfinished` where it is not by `deadline`, as `time.monotonic` counts.

    SageMaker can roll an update back and still answer InService, with the configuration of before:
    tools that wait for InService take that for success
    (https://github.com/hashicorp/terraform-provider-aws/issues/48997). So the configuration is
    compared with the one that CloudFormation made.
    """
    try:
        description = sagemaker.describe_endpoint(EndpointName=endpoint.name)
        said = ""
        while description["EndpointStatus"] not in AT_REST and time.monotonic() < deadline:
            if said != description["EndpointStatus"]:
                said = description["EndpointStatus"]
                say(f"  {endpoint.name} is {said}")
            time.sleep(POLL_SECONDS)
            description = sagemaker.describe_endpoint(EndpointName=endpoint.name)
    except ClientError as error:
        if expired(error):
            raise
        return f"{endpoint.name} cannot be described: {error}"
    status, serving = description["EndpointStatus"], description["EndpointConfigName"]
    reason = description.get("FailureReason")
    because = f": {reason}" if reason else ""
    if status not in AT_REST:
        raise Unfinished(f"everything is deployed, and {endpoint.name} is {status} for too long")
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
