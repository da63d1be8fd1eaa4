"""The status of a stage's stacks."""

from collections.abc import Iterable
from functools import partial
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from release.delivery.steps import wait_while

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_cloudformation.type_defs import StackTypeDef

COMPLETE = (
    *("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE"),
    *("IMPORT_COMPLETE", "IMPORT_ROLLBACK_COMPLETE"),
)
"""Statuses of a stack whose resources match its template (CloudFormation user guide, "Stack status
codes")."""
NOT_THERE = "not there"
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
        wait_while(stack, partial(_operation, cloudformation, stack))


def in_progress(cloudformation: "CloudFormationClient", stacks: Iterable[str]) -> list[str]:
    """Return the operations in progress, such as `prod-text (UPDATE_IN_PROGRESS)`."""
    operations = {stack: _operation(cloudformation, stack) for stack in stacks}
    return [f"{stack} ({status})" for stack, status in operations.items() if status]


def rollback_failed(cloudformation: "CloudFormationClient", stacks: Iterable[str]) -> list[str]:
    """Return the stacks that CloudFormation could not roll back, and therefore does not update.

    ContinueUpdateRollback repairs them (CloudFormation user guide, "Continue rolling back an
    update").
    """
    statuses = not_complete(cloudformation, stacks)
    return [stack for stack, status in statuses.items() if status == "UPDATE_ROLLBACK_FAILED"]


def not_complete(cloudformation: "CloudFormationClient", stacks: Iterable[str]) -> dict[str, str]:
    """Return the status of each stack whose resources may not match its template.

    After a completed rollback they match the template before the update. The cdk CLI skips a stack
    that already has the new template, in any status (canSkipDeploy of aws-cdk 2.1148.1).
    """
    statuses = {stack: _status(cloudformation, stack) or NOT_THERE for stack in stacks}
    return {stack: status for stack, status in statuses.items() if status not in COMPLETE}


def _operation(cloudformation: "CloudFormationClient", stack: str) -> str | None:
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
