"""The message about a stack in UPDATE_ROLLBACK_FAILED, with the commands that repair it.

CloudFormation does not update such a stack, and the cdk CLI considers it deployed if it already has
the new template. ContinueUpdateRollback retries or skips only the resources that failed in the
rollback (CloudFormation API reference, ContinueUpdateRollback, ResourcesToSkip).
"""

from typing import TYPE_CHECKING

from delivery.stack_failures import readable_reason

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

RUNBOOK = 'docs/runbook.md, "CloudFormation could not roll an update back"'


def describe_stuck_rollback(cloudformation: "CloudFormationClient", stack: str) -> str:
    """Return a message with the failed resources, and the commands that continue the rollback."""
    failures = _failed_resources(cloudformation, stack)
    lines = [
        f"{stack} is UPDATE_ROLLBACK_FAILED: CloudFormation could not roll back an update, and "
        "does not change this stack until the rollback is continued",
        *(f"{name} failed: {reason}" for name, reason in failures.items()),
        f"Remove the cause, and run the commands of {RUNBOOK}, with NAME={stack}; if it fails "
        f"again, with --resources-to-skip {' '.join(failures)}. Then deliver again",
    ]
    return "\n  ".join(lines)


def _failed_resources(cloudformation: "CloudFormationClient", stack: str) -> dict[str, str]:
    """Return resource -> reason for the resources that failed in the last attempt to roll back.

    Each attempt begins with an event of the stack; events are listed newest first.
    """
    reasons = dict[str, str]()
    pages = cloudformation.get_paginator("describe_stack_events").paginate(StackName=stack)
    for event in (event for page in pages for event in page["StackEvents"]):
        if event["ResourceStatus"] == "UPDATE_ROLLBACK_IN_PROGRESS":
            break
        if event["ResourceStatus"] == "UPDATE_FAILED":
            reason = readable_reason(event.get("ResourceStatusReason", ""))
            reasons[event["LogicalResourceId"]] = reason.partition(". ")[0]
    return dict(reversed(reasons.items()))
