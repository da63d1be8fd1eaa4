"""The state of an endpoint: whether it is updating, and which configuration it serves."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from release.delivery.errors import Unfinished
from release.delivery.steps import wait_while
from release.preflight.running_endpoints import endpoint_description
from release.stack_endpoints import StackEndpoint

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_sagemaker import SageMakerClient

IDLE_STATUSES = ("InService", "Failed", "OutOfService", "UpdateRollbackFailed")
"""Statuses of an endpoint that is not changing (SageMaker API reference, DescribeEndpoint)."""
SCALING = ("Updating", "RollingBack")
"""Statuses of an endpoint that scales or is updated; only an update to another configuration has a
PendingDeploymentSummary (SageMaker API reference, DescribeEndpoint)."""
RUNBOOK = 'docs/runbook.md, "An update was rolled back in silence"'


class EndpointFault(NamedTuple):
    """A fault of an endpoint.

    With `must_be_created`, the endpoint cannot be updated, only deleted and created again.
    """

    text: str
    must_be_created: bool = False


def wait_for_endpoints(sagemaker: "SageMakerClient", names: Iterable[str]) -> None:
    """Wait until no endpoint is updating or scaling: SageMaker refuses a second update."""
    for name in names:
        wait_while(name, partial(_operation, sagemaker, name))


def endpoint_fault(
    sagemaker: "SageMakerClient",
    cloudformation: "CloudFormationClient",
    endpoint: StackEndpoint,
    *,
    deadline: float,
) -> EndpointFault | None:
    """Wait while an endpoint is updating; return its fault, None if it has none.

    Raise `Unfinished` if it is still updating at `deadline`, in `time.monotonic` seconds.

    After a rollback by SageMaker, the endpoint is InService with the old configuration, and tools
    that wait for InService report success
    (https://github.com/hashicorp/terraform-provider-aws/issues/48997). Therefore the configuration
    is compared with the one that CloudFormation created.
    """
    update = partial(_operation, sagemaker, endpoint.name, scaling=False)
    if status := wait_while(endpoint.name, update, deadline=deadline):
        raise Unfinished(
            f"everything is deployed, but {endpoint.name} is still {status} after the time limit"
        )
    description = endpoint_description(sagemaker, endpoint.name)
    if description is None:
        return _must_be_created(endpoint, "does not exist: it was deleted")
    status = description["EndpointStatus"]
    reason = description.get("FailureReason")
    because = f": {reason}" if reason else ""
    if status == "Failed":
        return _must_be_created(endpoint, f"has failed, and SageMaker can only delete it{because}")
    if status not in ("InService", *SCALING):
        return EndpointFault(f"{endpoint.name} is {status}{because}")
    resource = cloudformation.describe_stack_resource(
        StackName=endpoint.stack, LogicalResourceId=endpoint.config
    )["StackResourceDetail"]
    deployed = resource.get("PhysicalResourceId", "").rpartition("/")[2]
    serving = description["EndpointConfigName"]
    if serving.lower() == deployed.lower():  # ARNs have the name in lower case
        return None
    return EndpointFault(
        f"{endpoint.name} was rolled back although its deploy succeeded: it serves with "
        f"{serving}, but {endpoint.stack} created {deployed}{because}. See {RUNBOOK}"
    )


def _must_be_created(endpoint: StackEndpoint, text: str) -> EndpointFault:
    """Return the fault of an endpoint that must be created again (DescribeEndpoint, `Failed`)."""
    return EndpointFault(
        f"{endpoint.name} {text}. It cannot be invoked until it is created again with its stack: "
        f"aws cloudformation delete-stack --stack-name {endpoint.stack}; aws cloudformation wait "
        f"stack-delete-complete --stack-name {endpoint.stack}; then deliver again",
        must_be_created=True,
    )


def _operation(sagemaker: "SageMakerClient", name: str, *, scaling: bool = True) -> str | None:
    """Return the status of an endpoint that is updating or scaling, None if it is neither.

    Without `scaling`, only an update counts.
    """
    description = endpoint_description(sagemaker, name)
    if description is None or description["EndpointStatus"] in IDLE_STATUSES:
        return None
    status = description["EndpointStatus"]
    if status in SCALING and not scaling and "PendingDeploymentSummary" not in description:
        return None
    return status
