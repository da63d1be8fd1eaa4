"""Why CloudFormation did not do what it was asked."""

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import TYPE_CHECKING, NamedTuple

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_cloudformation.type_defs import StackEventTypeDef

_CANCELLED = ("Resource creation cancelled", "Resource update cancelled")
"""Reasons of the resources that CloudFormation stopped because another one failed."""

_CUSTOM = re.compile(
    r"^Received response status \[FAILED\] from custom resource\. Message returned: "
)


class FailedResource(NamedTuple):
    """A resource by its logical id, and the first sentence of CloudFormation's reason."""

    name: str
    type: str
    reason: str


def useful(reason: str) -> str:
    """Return the sentence of CloudFormation's reason, without a stack trace and request id.

    The CDK's provider framework returns its error's stack after an empty line (framework.js of
    aws-cdk-lib's custom-resources).
    """
    first = _CUSTOM.sub("", reason.strip()).partition("\n\n")[0]
    return re.sub(r" \(RequestId: [^)]*\)$", "", " ".join(first.split())).removeprefix("Error: ")


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
            reason = useful(event.get("ResourceStatusReason", "")).partition(". ")[0]
            name, kind = event["LogicalResourceId"], event["ResourceType"]
            failed.append(FailedResource(name, kind, reason))
    return failed[::-1]


def _reasons(cloudformation: "CloudFormationClient", stack: str, before: str) -> list[str]:
    lines = []
    for event in takewhile(lambda it: it["EventId"] != before, _events(cloudformation, stack)):
        reason = event.get("ResourceStatusReason", "")
        if event["ResourceStatus"].endswith("_FAILED") and not reason.startswith(_CANCELLED):
            lines.append(f"{stack}, {event['LogicalResourceId']}: {useful(reason)}")
    return lines[::-1]


def _events(cloudformation: "CloudFormationClient", stack: str) -> Iterator["StackEventTypeDef"]:
    """Yield a stack's events, the newest first; none of a stack that does not exist."""
    try:
        for page in cloudformation.get_paginator("describe_stack_events").paginate(StackName=stack):
            yield from page["StackEvents"]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationError":
            raise
