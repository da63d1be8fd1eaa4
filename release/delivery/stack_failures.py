"""Why CloudFormation failed to change a stack."""

import re
from collections.abc import Iterable, Iterator
from itertools import takewhile
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_cloudformation.type_defs import StackEventTypeDef

_CANCELLED = ("Resource creation cancelled", "Resource update cancelled")
"""Reasons of the resources that CloudFormation stopped because another one failed."""

_CUSTOM = re.compile(
    r"^Received response status \[FAILED\] from custom resource\. Message returned: "
)


def useful(reason: str) -> str:
    """Return the sentence of CloudFormation's reason, without a stack trace and request id.

    The CDK's provider framework returns its error's stack after an empty line (framework.js of
    aws-cdk-lib's custom-resources).
    """
    first = _CUSTOM.sub("", reason.strip()).partition("\n\n")[0]
    return re.sub(r" \(RequestId: [^)]*\)$", "", " ".join(first.split())).removeprefix("Error: ")


def newest_events(cloudformation: "CloudFormationClient", stacks: Iterable[str]) -> dict[str, str]:
    """Return the id of each stack's newest event, empty of a stack that does not exist."""
    events = {stack: next(_events(cloudformation, stack), None) for stack in stacks}
    return {stack: event["EventId"] if event else "" for stack, event in events.items()}


def reasons_since(cloudformation: "CloudFormationClient", newest: dict[str, str]) -> list[str]:
    """Return the failures of each stack after its event in `newest`, a line each."""
    lines = []
    for stack, before in newest.items():
        events = list(_events(cloudformation, stack, until=before))
        for event in reversed(events):
            reason = event.get("ResourceStatusReason", "")
            if event["ResourceStatus"].endswith("_FAILED") and not reason.startswith(_CANCELLED):
                lines.append(f"{stack}, {event['LogicalResourceId']}: {useful(reason)}")
    return lines


def failed_in_rollback(cloudformation: "CloudFormationClient", stack: str) -> dict[str, str]:
    """Return the resources that failed in the last try of a rollback, and the reason of each.

    ContinueUpdateRollback skips these alone, and none that failed in the update before (its API
    reference, ResourcesToSkip). Each try begins with an event of the stack.
    """
    events = takewhile(
        lambda event: event["ResourceStatus"] != "UPDATE_ROLLBACK_IN_PROGRESS",
        _events(cloudformation, stack),
    )
    failed = {
        event["LogicalResourceId"]: useful(event.get("ResourceStatusReason", "")).partition(". ")[0]
        for event in events
        if event["ResourceStatus"] == "UPDATE_FAILED"
    }
    return dict(reversed(failed.items()))


def _events(
    cloudformation: "CloudFormationClient", stack: str, *, until: str = ""
) -> Iterator["StackEventTypeDef"]:
    """Yield a stack's events, the newest first, `until` the id of one; none without a stack."""
    try:
        for page in cloudformation.get_paginator("describe_stack_events").paginate(StackName=stack):
            for event in page["StackEvents"]:
                if event["EventId"] == until:
                    return
                yield event
    except ClientError as error:
        if error.response["Error"]["Code"] != "ValidationError":
            raise
