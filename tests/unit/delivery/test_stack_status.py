"""Tests of waiting for operations of stacks."""

from typing import Any

import pytest

from delivery import state, steps


class FakeCloudFormation:
    """A client whose stack has the next of `statuses`."""

    def __init__(self, *statuses: str) -> None:
        self.statuses = list(statuses)

    def describe_stacks(self, **_: str) -> dict[str, Any]:
        return {"Stacks": [{"StackStatus": self.statuses.pop(0)}]}


def wait(*statuses: str) -> None:
    """Wait for a stack; it must be described once for each status."""
    client: Any = FakeCloudFormation(*statuses)
    state.wait_for_stacks(client, ["prod-text"])
    assert client.statuses == []


@pytest.mark.parametrize(
    "status",
    ["CREATE_IN_PROGRESS", "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS", "DELETE_IN_PROGRESS"],
)
def test_operation_in_progress_is_awaited_and_reported_once(
    status: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(steps, "POLL_SECONDS", 0)
    wait(status, status, "UPDATE_COMPLETE")
    assert capsys.readouterr().out == f"  waiting for prod-text: {status}\n"


@pytest.mark.parametrize(
    "status", ["UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "REVIEW_IN_PROGRESS", "CREATE_FAILED"]
)
def test_stack_without_an_operation_is_not_awaited(
    status: str, capsys: pytest.CaptureFixture[str]
) -> None:
    wait(status)
    assert capsys.readouterr().out == ""
