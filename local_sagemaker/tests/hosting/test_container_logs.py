"""Sending of container logs to CloudWatch Logs."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local_sagemaker.hosting import container_logs
from local_sagemaker.hosting.container_logs import ContainerLogs
from local_sagemaker.tests.support.waiting import eventually

GROUP = "/aws/sagemaker/Endpoints/text"


class Logs:
    """A fake client of CloudWatch Logs; `groups` are the existing log groups."""

    def __init__(self) -> None:
        self.groups: set[str] = set()
        self.lines: dict[str, list[str]] = {}
        self.rejects_events = False

    def create_log_group(self, *, logGroupName: str) -> None:  # noqa: N803
        self.groups.add(logGroupName)

    def create_log_stream(self, *, logGroupName: str, logStreamName: str) -> None:  # noqa: N803
        if logGroupName not in self.groups:
            raise _error("ResourceNotFoundException")
        if logStreamName in self.lines:
            raise _error("ResourceAlreadyExistsException")
        self.lines[logStreamName] = []

    def put_log_events(self, *, logGroupName: str, logStreamName: str, logEvents: Any) -> None:  # noqa: N803
        if self.rejects_events or logGroupName not in self.groups:
            raise _error("ResourceNotFoundException")
        self.lines[logStreamName] += [event["message"] for event in logEvents]

    @property
    def all(self) -> list[str]:
        return [line for lines in self.lines.values() for line in lines]


def _error(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "PutLogEvents")


class Server:
    """A fake `Triton` with a log file."""

    def __init__(self, folder: Path) -> None:
        self.log, self.ended = folder / "triton.log", False
        self.log.touch()

    def wait(self, timeout: float) -> bool:
        assert timeout == 0
        return self.ended

    def write(self, text: str) -> None:
        with self.log.open("a") as log:
            log.write(text)


@pytest.fixture
def logs() -> Logs:
    return Logs()


@pytest.fixture
def sender(logs: Logs, monkeypatch: pytest.MonkeyPatch) -> Iterator[ContainerLogs]:
    monkeypatch.setattr(container_logs, "INTERVAL_SECONDS", 0.001)
    sender = ContainerLogs(logs)
    yield sender
    sender.stop()


def follow_log(sender: ContainerLogs, server: Any) -> None:
    sender.follow_log(GROUP, "only/i-0123456789abcdef0", server)


def test_later_copy_continues_the_stream_of_an_earlier_one(
    sender: ContainerLogs, logs: Logs, tmp_path: Path
) -> None:
    server = Server(tmp_path)
    server.write("copy\n")
    server.ended = True
    follow_log(sender, server)
    eventually(lambda: logs.all == ["copy\n"])
    follow_log(sender, server)
    eventually(lambda: logs.all == ["copy\n", "copy\n"])


def test_stop_sends_remaining_lines(logs: Logs, tmp_path: Path) -> None:
    server = Server(tmp_path)
    sender = ContainerLogs(logs)
    follow_log(sender, server)
    server.write("goodbye\n")
    sender.stop()
    assert logs.all == ["goodbye\n"]


def test_deleted_log_group_is_not_created_again(
    sender: ContainerLogs, logs: Logs, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server(tmp_path)
    follow_log(sender, server)
    eventually(lambda: logs.lines)
    logs.groups.clear()
    server.write("late\n")
    eventually(lambda: "does not take the log" in caplog.text)
    assert (logs.groups, logs.all) == (set(), [])


def test_failed_stream_is_reported_and_others_continue(
    sender: ContainerLogs, logs: Logs, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    create = logs.create_log_stream

    def refuse(**_: Any) -> None:
        logs.create_log_stream = create  # type: ignore[method-assign]
        raise _error("AccessDeniedException")

    logs.create_log_stream = refuse  # type: ignore[method-assign]
    follow_log(sender, SimpleNamespace(log=tmp_path / "none"))
    eventually(lambda: "has no stream" in caplog.text)
    server = Server(tmp_path)
    server.write("here\n")
    follow_log(sender, server)
    eventually(lambda: logs.all == ["here\n"])
