"""The state of an endpoint: whether it is updating, and which configuration it serves."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from delivery.errors import Unfinished
from delivery.preflight.running_endpoints import endpoint_description
from delivery.steps import wait_while
from release.stack_endpoints import StackEndpoint

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_sagemaker import SageMakerClient

IDLE_STATUSES = ("InService", "Failed", "OutOfService", "UpdateRollbackFailed")
"""Statuses of an endpoint that is not changing (SageMaker API reference, DescribeEndpoint)."""
SCALING_STATUSES = ("Updating", "RollingBack")
"""Statuses of an endpoint that scales or is updated (SageMaker API reference, DescribeEndpoint).

Only an update to another configuration has a PendingDeploymentSummary.
"""
RUNBOOK = 'docs/runbook.md, "An update was rolled back in silence"'


class EndpointFault(NamedTuple):
    """A fault of an endpoint.

    If `must_be_recreated`, the endpoint cannot be updated, only deleted and created again.
    """

    text: str
    must_be_recreated: bool = False


def wait_for_endpoints(sagemaker: "SageMakerClient", names: Iterable[str]) -> None:
    """Wait until no endpoint is updating or scaling: SageMaker refuses a second update."""
    for name in names:
        wait_while(name, partial(_operation_status, sagemaker, name))


def endpoint_fault(
    sagemaker: "SageMakerClient",
    cloudformation: "CloudFormationClient",
    endpoint: StackEndpoint,
    *,
    deadline: float,
) -> EndpointFault | None:
    """Wait while an endpoint is updating; return its fault, None if it has none.

    Raise `Unfinished` if it is still updating at `deadline` (`time.monotonic` seconds).

    After a rollback by SageMaker, the endpoint is InService with the old configuration, and tools
    that wait for InService report success
    (https://github.com/hashicorp/terraform-provider-aws/issues/48997). Therefore the configuration
    is compared with the one that CloudFormation created.
    """
    update = partial(_operation_status, sagemaker, endpoint.name, include_scaling=False)
    if status := wait_while(endpoint.name, update, deadline=deadline):
        raise Unfinished(
            f"everything is deployed, but {endpoint.name} is still {status} after the time limit"
        )
    description = endpoint_description(sagemaker, endpoint.name)
    if description is None:
        return _recreation_fault(endpoint, "does not exist: it was deleted")
    status = description["EndpointStatus"]
    reason = description.get("FailureReason")
    suffix = f": {reason}" if reason else ""
    if status == "Failed":
        return _recreation_fault(endpoint, f"has failed, and SageMaker can only delete it{suffix}")
    if status not in ("InService", *SCALING_STATUSES):
        return EndpointFault(f"{endpoint.name} is {status}{suffix}")
    resource = cloudformation.describe_stack_resource(
        StackName=endpoint.stack, LogicalResourceId=endpoint.config
    )["StackResourceDetail"]
    deployed_config = resource.get("PhysicalResourceId", "").rpartition("/")[2]
    serving_config = description["EndpointConfigName"]
    if serving_config.lower() == deployed_config.lower():  # ARNs have the name in lower case
        return None
    return EndpointFault(
        f"{endpoint.name} was rolled back although its deploy succeeded: it serves with "
        f"{serving_config}, but {endpoint.stack} created {deployed_config}{suffix}. See {RUNBOOK}"
    )


def _recreation_fault(endpoint: StackEndpoint, text: str) -> EndpointFault:
    """Return the fault of an endpoint that only its stack can create again."""
    return EndpointFault(
        f"{endpoint.name} {text}. It cannot be invoked until it is created again with its stack: "
        f"aws cloudformation delete-stack --stack-name {endpoint.stack}; aws cloudformation wait "
        f"stack-delete-complete --stack-name {endpoint.stack}; then deliver again",
        must_be_recreated=True,
    )


def _operation_status(
    sagemaker: "SageMakerClient", name: str, *, include_scaling: bool = True
) -> str | None:
    """Return the status of an endpoint that is updating or scaling, else None.

    Without `include_scaling`, return None for an endpoint that only scales.
    """
    description = endpoint_description(sagemaker, name)
    if description is None or description["EndpointStatus"] in IDLE_STATUSES:
        return None
    status = description["EndpointStatus"]
    is_scaling = status in SCALING_STATUSES and "PendingDeploymentSummary" not in description
    return None if is_scaling and not include_scaling else status
