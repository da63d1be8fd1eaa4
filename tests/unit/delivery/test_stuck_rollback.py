"""Test of the message about a stack whose rollback failed."""

from datetime import UTC, datetime
from typing import Any

import boto3
from botocore.stub import Stubber

from delivery.state import describe_stuck_rollback


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
EVENTS = [
    event("Target1", "UPDATE_FAILED", "No"),
    event("Check1", "UPDATE_FAILED", "Rolled back. More"),
    ROLLBACK,
    event("Check2", "UPDATE_FAILED", "A failure of the first attempt to roll back"),
    ROLLBACK,
    event("Entry", "UPDATE_FAILED", "A failure before the rollback"),
]
"""Newest first, as CloudFormation returns events."""


def test_message_has_the_failed_resources_of_the_last_attempt() -> None:
    session = boto3.Session("key", "secret", region_name="us-east-1")
    cloudformation = session.client("cloudformation")
    stub = Stubber(cloudformation)
    stub.add_response("describe_stack_events", {"StackEvents": EVENTS})
    with stub:
        first, *failures, last = describe_stuck_rollback(cloudformation, "prod-text").splitlines()
    assert first.startswith("prod-text is UPDATE_ROLLBACK_FAILED: ")
    assert failures == ["  Check1 failed: Rolled back", "  Target1 failed: No"]
    assert "CloudFormation could not roll an update back" in last
    assert "with NAME=prod-text" in last
    assert last.endswith("--resources-to-skip Check1 Target1. Then deliver again")
