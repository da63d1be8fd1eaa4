"""A stack in UPDATE_ROLLBACK_FAILED, and how it works again.

CloudFormation does not update such a stack, and the cdk CLI takes it for deployed if its template
is the new one already. ContinueUpdateRollback retries the resources that failed in the rollback, or
skips them, and no others (CloudFormation API reference, ContinueUpdateRollback).
"""

from typing import TYPE_CHECKING

from release.delivery.stack_failures import failed_in_rollback

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

RUNBOOK = 'docs/runbook.md, "CloudFormation could not roll an update back"'


def stuck_rollback(cloudformation: "CloudFormationClient", stack: str) -> str:
    """Return what failed in the rollback of a stack, and how to continue it."""
    failed = failed_in_rollback(cloudformation, stack)
    lines = [
        f"{stack} is UPDATE_ROLLBACK_FAILED: CloudFormation could not roll back an update, and "
        "changes nothing in this stack until the rollback is continued",
        *(f"{name} failed: {reason}" for name, reason in failed.items()),
        f"Remove the cause, and run the commands of {RUNBOOK}, with NAME={stack}; if it fails "
        f"again, with --resources-to-skip {' '.join(failed)}. Then deliver again",
    ]
    return "\n  ".join(lines)
