"""What an earlier delivery has begun is waited for."""

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from release.delivery import stack_status, steps


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "POLL_SECONDS", 0)


@pytest.fixture
def session() -> boto3.Session:
    return boto3.Session("key", "secret", region_name="us-east-1")


def answers(stub: Stubber, *statuses: str) -> None:
    for status in statuses:
        stack = {"StackName": "prod-text", "CreationTime": "2026-01-01", "StackStatus": status}
        stub.add_response("describe_stacks", {"Stacks": [stack]}, {"StackName": "prod-text"})


@pytest.mark.parametrize(
    "status",
    [
        "CREATE_IN_PROGRESS",
        "UPDATE_IN_PROGRESS",
        "UPDATE_ROLLBACK_IN_PROGRESS",
        "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS",
        "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS",
        "DELETE_IN_PROGRESS",
    ],
)
def test_a_stack_that_cloudformation_is_at_work_on_is_waited_for_and_said_once(
    status: str, session: boto3.Session, capsys: pytest.CaptureFixture[str]
) -> None:
    cloudformation = session.client("cloudformation")
    stub = Stubber(cloudformation)
    answers(stub, status, status, "UPDATE_COMPLETE")
    with stub:
        stack_status.wait_for_stacks(cloudformation, ["prod-text"])
    stub.assert_no_pending_responses()
    assert capsys.readouterr().out == (f"  waiting for prod-text: {status}\n")


@pytest.mark.parametrize(
    "status", ["UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "REVIEW_IN_PROGRESS", "CREATE_FAILED"]
)
def test_a_stack_that_nobody_works_on_is_not_waited_for(
    status: str, session: boto3.Session, capsys: pytest.CaptureFixture[str]
) -> None:
    cloudformation = session.client("cloudformation")
    stub = Stubber(cloudformation)
    answers(stub, status)
    with stub:
        stack_status.wait_for_stacks(cloudformation, ["prod-text"])
    assert capsys.readouterr().out == ""


def test_a_stack_that_is_not_there_is_not_waited_for(session: boto3.Session) -> None:
    cloudformation = session.client("cloudformation")
    stub = Stubber(cloudformation)
    stub.add_client_error("describe_stacks", "ValidationError", "does not exist")
    with stub:
        assert stack_status.in_progress(cloudformation, ["prod-text"]) == []


def test_a_wait_is_reported_every_minute(
    session: boto3.Session, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Clock:
        now = 0.0

        def monotonic(self) -> float:
            return self.now

        def sleep(self, _: float) -> None:
            self.now += 31

    monkeypatch.setattr(steps, "time", Clock())
    cloudformation = session.client("cloudformation")
    stub = Stubber(cloudformation)
    answers(stub, *5 * ["UPDATE_IN_PROGRESS"], "UPDATE_COMPLETE")
    with stub:
        stack_status.wait_for_stacks(cloudformation, ["prod-text"])
    assert capsys.readouterr().out.splitlines() == 3 * [
        "  waiting for prod-text: UPDATE_IN_PROGRESS"
    ]


def test_credentials_that_expire_meanwhile_are_an_error(session: boto3.Session) -> None:
    cloudformation = session.client("cloudformation")
    stub = Stubber(cloudformation)
    stub.add_client_error("describe_stacks", "ExpiredTokenException", "expired")
    with stub, pytest.raises(ClientError, match="ExpiredTokenException"):
        stack_status.wait_for_stacks(cloudformation, ["prod-text"])
