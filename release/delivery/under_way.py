"""What an earlier delivery has begun, and AWS goes on with."""

import time
from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from release.delivery.steps import say

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_sagemaker import SageMakerClient
    from mypy_boto3_sagemaker.type_defs import DescribeEndpointOutputTypeDef

POLL_SECONDS = 5.0
UPDATE_ROLLBACK_FAILED = "UPDATE_ROLLBACK_FAILED"
COMPLETE = (
    *("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE"),
    *("IMPORT_COMPLETE", "IMPORT_ROLLBACK_COMPLETE"),
)
"""Statuses of a stack whose resources are as its template says (CloudFormation user guide, "Stack
status codes")."""
NOT_THERE = "not there"
SAY_SECONDS = 60.0
AT_REST = ("InService", "Failed", "OutOfService", "UpdateRollbackFailed")
"""Statuses of an endpoint that is not changing (SageMaker API reference, DescribeEndpoint)."""


def wait_for_stacks(cloudformation: "CloudFormationClient", stacks: Iterable[str]) -> None:
    """Return when CloudFormation is at work on none of `stacks`.

    The cdk CLI does not wait: it takes a stack in progress that has the wanted template already for
    deployed, and starts a change set on any other (canSkipDeploy and deployStack of aws-cdk
    2.1148.1). CloudFormation ends an endpoint's update after 970 minutes at the latest
    (`timeoutInMinutes` in the schema of AWS::SageMaker::Endpoint).
    """
    for stack in stacks:
        _wait(stack, partial(_in_progress, cloudformation, stack))


def wait_for_endpoints(sagemaker: "SageMakerClient", endpoints: Iterable[str]) -> None:
    """Return when none of `endpoints` is changing: SageMaker refuses a second update."""
    for endpoint in endpoints:
        _wait(endpoint, partial(_changing, sagemaker, endpoint))


def in_progress(cloudformation: "CloudFormationClient", stacks: Iterable[str]) -> list[str]:
    """Return what CloudFormation is at work on, such as `prod-text (UPDATE_IN_PROGRESS)`."""
    found = {stack: _in_progress(cloudformation, stack) for stack in stacks}
    return [f"{stack} ({status})" for stack, status in found.items() if status]


def is_complete(cloudformation: "CloudFormationClient", stack: str) -> bool:
    """Whether a stack is there, and its last change has succeeded."""
    return _status(cloudformation, stack) in ("CREATE_COMPLETE", "UPDATE_COMPLETE")


def rollback_failed(cloudformation: "CloudFormationClient", stacks: Iterable[str]) -> list[str]:
    """Return those of `stacks` that CloudFormation could not bring back, and updates no more.

    They are left to `ContinueUpdateRollback` (CloudFormation user guide, "Continue rolling back an
    update").
    """
    return [it for it in stacks if _status(cloudformation, it) == UPDATE_ROLLBACK_FAILED]


def not_complete(cloudformation: "CloudFormationClient", stacks: Iterable[str]) -> dict[str, str]:
    """Return the status of each of `stacks` that is not as its last template says.

    After a rolled back update it is: that template is the one before. The cdk CLI skips a stack
    that has the wanted template already, whatever its status (canSkipDeploy of aws-cdk 2.1148.1).
    """
    statuses = {stack: _status(cloudformation, stack) or NOT_THERE for stack in stacks}
    return {stack: status for stack, status in statuses.items() if status not in COMPLETE}


def _wait(name: str, status: Callable[[], str | None]) -> None:
    start = said = time.monotonic()
    found = status()
    if found:
        say(f"  waiting for {name}: {found} since before this delivery")
    while found:
        time.sleep(POLL_SECONDS)
        found = status()
        if found and time.monotonic() - said >= SAY_SECONDS:
            said = time.monotonic()
            say(f"  {(said - start) / 60:.0f} min: {name} is {found}")


def _in_progress(cloudformation: "CloudFormationClient", stack: str) -> str | None:
    """Return the status of a stack that CloudFormation is at work on, None of any other.

    One in REVIEW_IN_PROGRESS has a change set that nobody executed: the cdk CLI replaces it.
    """
    status = _status(cloudformation, stack)
    if status and status.endswith("_IN_PROGRESS") and status != "REVIEW_IN_PROGRESS":
        return status
    return None


def _status(cloudformation: "CloudFormationClient", stack: str) -> str | None:
    """Return the status of a stack, None where there is none."""
    try:
        (described,) = cloudformation.describe_stacks(StackName=stack)["Stacks"]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationError":
            raise
        return None
    return described["StackStatus"]


def _changing(sagemaker: "SageMakerClient", endpoint: str) -> str | None:
    description = description_of(sagemaker, endpoint)
    if description is None or description["EndpointStatus"] in AT_REST:
        return None
    return description["EndpointStatus"]


def description_of(
    sagemaker: "SageMakerClient", endpoint: str
) -> "DescribeEndpointOutputTypeDef | None":
    """Return SageMaker's description of an endpoint, None where there is none."""
    try:
        return sagemaker.describe_endpoint(EndpointName=endpoint)
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationException":
            raise
        return None
