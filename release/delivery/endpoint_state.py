"""Whether an endpoint serves what was deployed."""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from release.delivery.errors import Unfinished
from release.delivery.steps import say
from release.delivery.stuck_rollback import MovedEndpoint
from release.delivery.under_way import AT_REST, description_of
from release.stage_resources import StackEndpoint

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_sagemaker import SageMakerClient

POLL_SECONDS = 5.0
SCALING = ("Updating", "RollingBack")
"""Scaling sets these too; an update to another configuration has a PendingDeploymentSummary beside
them (SageMaker API reference, DescribeEndpoint)."""


class EndpointFault(NamedTuple):
    """What is wrong with an endpoint.

    No update repairs one that `must_be_created`, so that no earlier commit can be deployed to it.
    """

    text: str
    must_be_created: bool = False


def what_is_wrong(
    sagemaker: "SageMakerClient",
    cloudformation: "CloudFormationClient",
    endpoint: StackEndpoint,
    *,
    deadline: float,
) -> EndpointFault | None:
    """Wait while an endpoint is updated; return what is wrong with it, None if nothing is.

    Raises `Unfinished` where it still is at `deadline`, as `time.monotonic` counts.

    SageMaker can roll an update back and still answer InService, with the configuration of before:
    tools that wait for InService take that for success
    (https://github.com/hashicorp/terraform-provider-aws/issues/48997). So the configuration is
    compared with the one that CloudFormation made.
    """
    description, shown = description_of(sagemaker, endpoint.name), ""
    while description and _is_updated(description) and time.monotonic() < deadline:
        if shown != description["EndpointStatus"]:
            shown = description["EndpointStatus"]
            say(f"  {endpoint.name} is {shown}")
        time.sleep(POLL_SECONDS)
        description = description_of(sagemaker, endpoint.name)
    if description is None:
        return _to_be_created(endpoint, "does not exist: somebody deleted it")
    status, serving = description["EndpointStatus"], description["EndpointConfigName"]
    reason = description.get("FailureReason")
    because = f": {reason}" if reason else ""
    if _is_updated(description):
        raise Unfinished(f"everything is deployed, and {endpoint.name} is {status} for too long")
    if status == "Failed":
        return _to_be_created(endpoint, f"has failed, and SageMaker can only delete it{because}")
    if status not in ("InService", *SCALING):
        return EndpointFault(f"{endpoint.name} is {status}{because}")
    resource = cloudformation.describe_stack_resource(
        StackName=endpoint.stack, LogicalResourceId=endpoint.config
    )["StackResourceDetail"]
    config_arn = resource.get("PhysicalResourceId", "")
    deployed = config_arn.rpartition("/")[2]
    if serving.lower() == deployed.lower():  # ARNs have the name in lower case
        return None
    commands = "\n    ".join(MovedEndpoint(endpoint.name, config_arn).commands())
    return EndpointFault(
        f"{endpoint.name} was rolled back although its deploy succeeded: it serves with "
        f"{serving}, and {endpoint.stack} made {deployed}{because}. "
        "Unless its instances fail, to serve with that:\n"
        f"    {commands}"
    )


def _to_be_created(endpoint: StackEndpoint, text: str) -> EndpointFault:
    """Source: SageMaker API reference, DescribeEndpoint, `Failed`."""
    return EndpointFault(
        f"{endpoint.name} {text}. No call is answered until it is created again, with its stack: "
        f"aws cloudformation delete-stack --stack-name {endpoint.stack}; aws cloudformation wait "
        f"stack-delete-complete --stack-name {endpoint.stack}; then deliver again",
        must_be_created=True,
    )


def _is_updated(description: Mapping[str, object]) -> bool:
    """Whether an endpoint is created, updated, maintained or deleted; not whether it scales."""
    status = description["EndpointStatus"]
    if status in SCALING:
        return "PendingDeploymentSummary" in description
    return status not in AT_REST
