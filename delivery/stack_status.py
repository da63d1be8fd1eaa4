"""The status of a stage's stacks."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from delivery.steps import wait_while

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_cloudformation.type_defs import StackTypeDef

COMPLETE_STATUSES = (
    *("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE"),
    *("IMPORT_COMPLETE", "IMPORT_ROLLBACK_COMPLETE"),
)
"""Statuses of a stack whose resources match its template.

Source: CloudFormation user guide, "Stack status codes".
"""
MISSING = "missing"
"""The status of a stack that does not exist."""


def stack_description(cloudformation: "CloudFormationClient", stack: str) -> "StackTypeDef | None":
    """Return CloudFormation's description of a stack, None if it does not exist."""
    try:
        (description,) = cloudformation.describe_stacks(StackName=stack)["Stacks"]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationError":
            raise
        return None
    return description


def wait_for_stacks(cloudformation: "CloudFormationClient", stacks: Iterable[str]) -> None:
    """Wait until no operation is in progress on any of `stacks`.

    The cdk CLI does not wait: it skips a stack in progress that already has the new template, and
    creates a change set for any other (canSkipDeploy and deployStack of aws-cdk 2.1148.1).
    CloudFormation ends an endpoint's update after 970 minutes at the latest
    (`timeoutInMinutes` in the schema of AWS::SageMaker::Endpoint).
    """
    for stack in stacks:
        wait_while(stack, partial(_operation_status, cloudformation, stack))


def operations_in_progress(
    cloudformation: "CloudFormationClient", stacks: Iterable[str]
) -> list[str]:
    """Return the stacks with an operation in progress, as `prod-text (UPDATE_IN_PROGRESS)`."""
    statuses = {stack: _operation_status(cloudformation, stack) for stack in stacks}
    return [f"{stack} ({status})" for stack, status in statuses.items() if status]


def stacks_with_failed_rollback(
    cloudformation: "CloudFormationClient", stacks: Iterable[str]
) -> list[str]:
    """Return the stacks in UPDATE_ROLLBACK_FAILED, which CloudFormation does not update.

    ContinueUpdateRollback repairs such a stack (CloudFormation user guide, "Continue rolling back
    an update").
    """
    statuses = incomplete_stacks(cloudformation, stacks)
    return [stack for stack, status in statuses.items() if status == "UPDATE_ROLLBACK_FAILED"]


def incomplete_stacks(
    cloudformation: "CloudFormationClient", stacks: Iterable[str]
) -> dict[str, str]:
    """Return the status of each stack whose resources may not match its template.

    After a completed rollback the resources match the template before the update. The cdk CLI skips
    a stack that already has the new template, in any status (canSkipDeploy of aws-cdk 2.1148.1).
    """
    statuses = {stack: _status(cloudformation, stack) or MISSING for stack in stacks}
    return {stack: status for stack, status in statuses.items() if status not in COMPLETE_STATUSES}


def _operation_status(cloudformation: "CloudFormationClient", stack: str) -> str | None:
    """Return the status of a stack with an operation in progress, else None.

    A stack in REVIEW_IN_PROGRESS only has a change set, which the cdk CLI replaces.
    """
    status = _status(cloudformation, stack)
    if status and status.endswith("_IN_PROGRESS") and status != "REVIEW_IN_PROGRESS":
        return status
    return None


def _status(cloudformation: "CloudFormationClient", stack: str) -> str | None:
    description = stack_description(cloudformation, stack)
    return description["StackStatus"] if description else None
