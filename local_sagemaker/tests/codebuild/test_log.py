from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from local_sagemaker.codebuild.log import Log, stream_name
from local_sagemaker.tests.codebuild.conftest import UUID, Clock, FakeLogs

ENABLED = {"cloudWatchLogs": {"status": "ENABLED"}}


@pytest.fixture
def log(tmp_path: Path, logs: FakeLogs, clock: Clock) -> Log:
    return Log(tmp_path / "build.log", logs, clock)


def lines_of(log: Log) -> list[str]:
    return log.file.read_text().splitlines()


def test_log_line_of_codebuild_starts_on_a_new_line(log: Log) -> None:
    log.write_agent_line("first")
    with log.file.open("a") as file:
        file.write("no newline")
    log.write_agent_line("second")
    log.write_agent_line("third")
    stamp = "[Container] 2027/01/15 08:00:00"
    assert lines_of(log) == [f"{stamp} first", "no newline", f"{stamp} second", f"{stamp} third"]


def test_lines_are_sent_once(log: Log, logs: FakeLogs, clock: Clock) -> None:
    log.file.write_text("before\n\n")
    log.open("group", "stream")
    log.send()
    with log.file.open("ab") as file:
        file.write(b"bad \xff byte\n")
    clock.now += 1
    log.send()
    log.send()
    now = 1_800_000_000_000
    assert logs.batches["group", "stream"] == [
        [{"timestamp": now, "message": "before\n"}, {"timestamp": now, "message": "\n"}],
        [{"timestamp": now + 1000, "message": "bad \N{REPLACEMENT CHARACTER} byte\n"}],
    ]


def test_lines_are_sent_in_batches(log: Log, logs: FakeLogs) -> None:
    log.file.write_bytes(b"a\n" * 25_000)
    log.open("group", "stream")
    log.send()
    assert [len(batch) for batch in logs.batches["group", "stream"]] == [10_000, 10_000, 5_000]
    assert "".join(logs.messages("group", "stream")) == "a\n" * 25_000


def test_failed_delivery_is_logged_once(
    log: Log, logs: FakeLogs, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = EndpointConnectionError(endpoint_url="http://127.0.0.1:1")
    requests = []

    def refuse(**request: Any) -> None:
        requests.append(request)
        raise error

    monkeypatch.setattr(logs, "put_log_events", refuse)
    log.open("group", "stream")
    for text in ("first", "second"):
        log.write_agent_line(text)
        log.send()
    first, warning, second = lines_of(log)
    assert first.endswith("first")
    assert f"Cannot write to CloudWatch Logs: {error}" in warning
    assert second.endswith("second")
    assert len(requests) == 1


@pytest.mark.parametrize(
    ("config", "expected"),
    [
        (ENABLED, ("/aws/codebuild/builder", UUID)),
        ({"cloudWatchLogs": {"status": "ENABLED", "groupName": "mine"}}, ("mine", UUID)),
        (
            {"cloudWatchLogs": {"status": "ENABLED", "streamName": "gpu"}},
            ("/aws/codebuild/builder", f"gpu/{UUID}"),
        ),
        ({"cloudWatchLogs": {"status": "DISABLED", "groupName": "mine"}}, None),
    ],
)
def test_group_and_stream_of_the_project(
    config: dict[str, Any], expected: tuple[str, str] | None
) -> None:
    assert stream_name(config, "builder", UUID) == expected
