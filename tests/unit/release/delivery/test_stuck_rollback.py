"""The message about a stack whose rollback failed."""

from datetime import UTC, datetime
from typing import Any

import boto3
from botocore.stub import Stubber

from release.delivery.stuck_rollback import stuck_rollback


def event(resource: str, status: str, reason: str = "") -> dict[str, Any]:
    return {
        "StackId": "prod-text",
        "StackName": "prod-text",
        "EventId": resource + status,
        "LogicalResourceId": resource,
        "ResourceStatus": status,
        "ResourceStatusReason": reason,
        "Timestamp": datetime.now(UTC),
    }


ROLLBACK = event("prod-text", "UPDATE_ROLLBACK_IN_PROGRESS")
FAILURE_BEFORE_ROLLBACK = event("Entry", "UPDATE_FAILED", "It exists")
CHECK_FAILED = event("Check1", "UPDATE_FAILED", "Rolled back. More")
TARGET_FAILED = event("Target1", "UPDATE_FAILED", "No")


def message_lines(*events: dict[str, Any]) -> list[str]:
    """Return the message for a stack with these events, the newest first."""
    cloudformation = boto3.Session("key", "secret", region_name="us-east-1").client(
        "cloudformation"
    )
    stub = Stubber(cloudformation)
    stub.add_response("describe_stack_events", {"StackEvents": list(events)})
    with stub:
        return stuck_rollback(cloudformation, "prod-text").splitlines()


def test_message_has_failed_resources_and_the_fix() -> None:
    first, *failed, last = message_lines(
        TARGET_FAILED, CHECK_FAILED, ROLLBACK, FAILURE_BEFORE_ROLLBACK
    )
    assert first.startswith("prod-text is UPDATE_ROLLBACK_FAILED: ")
    assert failed == ["  Check1 failed: Rolled back", "  Target1 failed: No"]
    assert "CloudFormation could not roll an update back" in last
    assert "with NAME=prod-text" in last


def test_only_resources_of_the_last_attempt_are_skipped() -> None:
    message = message_lines(
        CHECK_FAILED, ROLLBACK, TARGET_FAILED, CHECK_FAILED, ROLLBACK, FAILURE_BEFORE_ROLLBACK
    )
    assert message[-1].endswith("--resources-to-skip Check1. Then deliver again")
