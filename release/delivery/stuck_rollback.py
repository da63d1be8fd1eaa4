"""A stack in UPDATE_ROLLBACK_FAILED, and how to make it work again.

CloudFormation does not update such a stack, and the cdk CLI takes it for deployed if its template
is the new one already. ContinueUpdateRollback retries or skips the resources that failed in the
rollback, and no others (CloudFormation API reference, ContinueUpdateRollback, ResourcesToSkip).
"""

from typing import TYPE_CHECKING

from release.delivery.stack_failures import useful

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

RUNBOOK = 'docs/runbook.md, "CloudFormation could not roll an update back"'


def stuck_rollback(cloudformation: "CloudFormationClient", stack: str) -> str:
    """Return which resources failed in the rollback of a stack, and how to continue it."""
    failed = _failed_resources(cloudformation, stack)
    lines = [
        f"{stack} is UPDATE_ROLLBACK_FAILED: CloudFormation could not roll back an update, and "
        "changes nothing in this stack until the rollback is continued",
        *(f"{name} failed: {reason}" for name, reason in failed.items()),
        f"Remove the cause, and run the commands of {RUNBOOK}, with NAME={stack}; if it fails "
        f"again, with --resources-to-skip {' '.join(failed)}. Then deliver again",
    ]
    return "\n  ".join(lines)


def _failed_resources(cloudformation: "CloudFormationClient", stack: str) -> dict[str, str]:
    """Return the resources that failed in the last try of a rollback, with their reasons.

    Each try begins with an event of the stack; events are listed newest first.
    """
    failed = dict[str, str]()
    pages = cloudformation.get_paginator("describe_stack_events").paginate(StackName=stack)
    for event in (event for page in pages for event in page["StackEvents"]):
        if event["ResourceStatus"] == "UPDATE_ROLLBACK_IN_PROGRESS":
            break
        if event["ResourceStatus"] == "UPDATE_FAILED":
            reason = useful(event.get("ResourceStatusReason", ""))
            failed[event["LogicalResourceId"]] = reason.partition(". ")[0]
    return dict(reversed(failed.items()))
