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
FORWARD = event("Entry", "UPDATE_FAILED", "It exists")
CHECK = event("Check1", "UPDATE_FAILED", "Rolled back. More")
TARGET = event("Target1", "UPDATE_FAILED", "No")


def stuck(*events: dict[str, Any]) -> list[str]:
    """Return the message about a stack with these events, the newest first."""
    cloudformation = boto3.Session("key", "secret", region_name="us-east-1").client(
        "cloudformation"
    )
    stub = Stubber(cloudformation)
    stub.add_response("describe_stack_events", {"StackEvents": list(events)})
    with stub:
        return stuck_rollback(cloudformation, "prod-text").splitlines()


def test_each_failed_resource_is_named_with_its_reason_and_the_way_on() -> None:
    first, *failed, last = stuck(TARGET, CHECK, ROLLBACK, FORWARD)
    assert first.startswith("prod-text is UPDATE_ROLLBACK_FAILED: ")
    assert failed == ["  Check1 failed: Rolled back", "  Target1 failed: No"]
    assert "CloudFormation could not roll an update back" in last
    assert "with NAME=prod-text" in last


def test_what_is_skipped_failed_in_the_last_try_of_the_rollback_and_not_before() -> None:
    message = stuck(CHECK, ROLLBACK, TARGET, CHECK, ROLLBACK, FORWARD)
    assert message[-1].endswith("--resources-to-skip Check1. Then deliver again")
