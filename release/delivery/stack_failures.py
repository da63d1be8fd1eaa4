"""Why CloudFormation did not do what it was asked."""

from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from botocore.exceptions import ClientError

import cdk_cli

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_cloudformation.type_defs import StackEventTypeDef


class FailedResource(NamedTuple):
    """A resource by its logical id, and the first sentence of CloudFormation's reason."""

    name: str
    type: str
    reason: str


def newest_events(cloudformation: "CloudFormationClient", stacks: Iterable[str]) -> dict[str, str]:
    """Return the id of each stack's newest event; stacks that do not exist are left out."""
    newest = {stack: next(_events(cloudformation, stack), None) for stack in stacks}
    return {stack: event["EventId"] for stack, event in newest.items() if event}


def reasons_since(
    cloudformation: "CloudFormationClient", stacks: Iterable[str], before: dict[str, str]
) -> list[str]:
    """Return what failed after the events `before`, one line each with what is useful of
    CloudFormation's reason."""
    return [
        line for stack in stacks for line in _reasons(cloudformation, stack, before.get(stack, ""))
    ]


def failed_in_rollback(cloudformation: "CloudFormationClient", stack: str) -> list[FailedResource]:
    """Return the resources that could not be rolled back when that was tried last.

    ContinueUpdateRollback skips these alone, and none that failed in the update before (its API
    reference, ResourcesToSkip). Each try begins with an event of the stack.
    """
    failed = []
    for event in _events(cloudformation, stack):
        if event["ResourceStatus"] == "UPDATE_ROLLBACK_IN_PROGRESS":
            break
        if event["ResourceStatus"] == "UPDATE_FAILED":
            reason = cdk_cli.useful(event.get("ResourceStatusReason", "")).partition(". ")[0]
            name, kind = event["LogicalResourceId"], event["ResourceType"]
            failed.append(FailedResource(name, kind, reason))
    return failed[::-1]


def _reasons(cloudformation: "CloudFormationClient", stack: str, before: str) -> list[str]:
    lines = []
    for event in takewhile(lambda it: it["EventId"] != before, _events(cloudformation, stack)):
        reason = event.get("ResourceStatusReason", "")
        if event["ResourceStatus"].endswith("_FAILED") and not reason.startswith(cdk_cli.CANCELLED):
            lines.append(f"{stack}, {event['LogicalResourceId']}: {cdk_cli.useful(reason)}")
    return lines[::-1]


def _events(cloudformation: "CloudFormationClient", stack: str) -> Iterator["StackEventTypeDef"]:
    """Yield a stack's events, the newest first; none of a stack that does not exist."""
    try:
        for page in cloudformation.get_paginator("describe_stack_events").paginate(StackName=stack):
            yield from page["StackEvents"]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationError":
            raise
