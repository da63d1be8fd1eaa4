"""Whether an endpoint serves what was deployed."""

import time
from collections.abc import Mapping
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
SCALING = ("Updating", "RollingBack")
"""Scaling sets these too; an update to another configuration has a PendingDeploymentSummary beside
them (SageMaker API reference, DescribeEndpoint)."""


def what_is_wrong(
    sagemaker: "SageMakerClient",
    cloudformation: "CloudFormationClient",
    endpoint: StackEndpoint,
    *,
    deadline: float,
) -> str | None:
    """Wait while an endpoint is updated; return what is wrong with it, None if nothing is.

    Raises `Unfinished` where it still is at `deadline`, as `time.monotonic` counts.

    SageMaker can roll an update back and still answer InService, with the configuration of before:
    tools that wait for InService take that for success
    (https://github.com/hashicorp/terraform-provider-aws/issues/48997). So the configuration is
    compared with the one that CloudFormation made.
    """
    try:
        description = sagemaker.describe_endpoint(EndpointName=endpoint.name)
        said = ""
        while _is_updated(description) and time.monotonic() < deadline:
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
    if _is_updated(description):
        raise Unfinished(f"everything is deployed, and {endpoint.name} is {status} for too long")
    if status not in ("InService", *SCALING):
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
        f"{serving}, and {endpoint.stack} made {deployed}{because}. To serve with that: aws "
        f"sagemaker update-endpoint --endpoint-name {endpoint.name} --endpoint-config-name "
        f"{deployed} --retain-all-variant-properties"
    )


def _is_updated(description: Mapping[str, object]) -> bool:
    """Whether an endpoint is created, updated, maintained or deleted; not whether it scales."""
    status = description["EndpointStatus"]
    if status in SCALING:
        return "PendingDeploymentSummary" in description
    return status not in AT_REST
