"""Tests of the status of stacks, and of waiting for operations."""

from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from release.delivery import stack_status, steps


@pytest.fixture(autouse=True)
def _no_delay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "POLL_SECONDS", 0)


@pytest.fixture
def cloudformation() -> Any:
    return boto3.Session("key", "secret", region_name="us-east-1").client("cloudformation")


def stub_statuses(cloudformation: Any, *statuses: str) -> Stubber:
    stub = Stubber(cloudformation)
    for status in statuses:
        stack = {"StackName": "prod-text", "CreationTime": "2026-01-01", "StackStatus": status}
        stub.add_response("describe_stacks", {"Stacks": [stack]}, {"StackName": "prod-text"})
    return stub


@pytest.mark.parametrize(
    "status",
    ["CREATE_IN_PROGRESS", "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", "DELETE_IN_PROGRESS"],
)
def test_operation_in_progress_is_awaited_and_reported_once(
    status: str, cloudformation: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with stub_statuses(cloudformation, status, status, "UPDATE_COMPLETE") as stub:
        stack_status.wait_for_stacks(cloudformation, ["prod-text"])
        stub.assert_no_pending_responses()
    assert capsys.readouterr().out == (f"  waiting for prod-text: {status}\n")


@pytest.mark.parametrize(
    "status", ["UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "REVIEW_IN_PROGRESS", "CREATE_FAILED"]
)
def test_stack_without_an_operation_is_not_awaited(
    status: str, cloudformation: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with stub_statuses(cloudformation, status):
        stack_status.wait_for_stacks(cloudformation, ["prod-text"])
    assert capsys.readouterr().out == ""
