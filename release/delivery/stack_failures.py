"""Why CloudFormation did not do what it was asked."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

CANCELLED = ("Resource creation cancelled", "Resource update cancelled")
"""What befalls the resources beside the one that failed."""


def newest_events(cloudformation: "CloudFormationClient", stacks: Iterable[str]) -> dict[str, str]:
    """Return the id of each stack's newest event; stacks that do not exist are left out."""
    found = {}
    for stack in stacks:
        try:
            events = cloudformation.describe_stack_events(StackName=stack)["StackEvents"]
        except ClientError as error:
            if error.response["Error"]["Code"] != "ValidationError":
                raise
            continue
        found[stack] = events[0]["EventId"]
    return found


def reasons_since(
    cloudformation: "CloudFormationClient", stacks: Iterable[str], before: dict[str, str]
) -> list[str]:
    """Return what failed after the events `before`, one line each with CloudFormation's reason."""
    return [
        line for stack in stacks for line in _reasons(cloudformation, stack, before.get(stack, ""))
    ]


def _reasons(cloudformation: "CloudFormationClient", stack: str, before: str) -> list[str]:
    lines = []
    try:
        pages = cloudformation.get_paginator("describe_stack_events").paginate(StackName=stack)
        for event in (event for page in pages for event in page["StackEvents"]):
            if event["EventId"] == before:
                break
            reason = event.get("ResourceStatusReason", "")
            if event["ResourceStatus"].endswith("_FAILED") and not reason.startswith(CANCELLED):
                lines.append(f"{stack}, {event['LogicalResourceId']}: {reason}")
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationError":
            raise
    return lines[::-1]
