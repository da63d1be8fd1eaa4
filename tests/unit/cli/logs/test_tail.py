"""The end of a log group, and what comes after it."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from cli.logs.tail import EARLIEST, LATE_MS, Tail, pattern
from local_sagemaker.cloudwatch import log_events
from tests.unit.release.preflight.conftest import Aws

GROUP = "/aws/sagemaker/Endpoints/prod-text"
NOW = 1_790_000_000_000  # milliseconds


class Log:
    """A group as CloudWatch Logs keeps it; pages have two events."""

    def __init__(self, aws: Aws) -> None:
        self.aws = aws
        self.events: list[dict[str, Any]] = []
        aws.answers["logs.FilterLogEvents"] = self._filter

    def add(self, text: str, time: int, stream: str = "AllTraffic/i-1") -> None:
        event = {"timestamp": time, "message": f"{text}\n", "logStreamName": stream}
        self.events.append({**event, "eventId": f"{stream} {text}"})

    def tail(self, pattern: str = "") -> Tail:
        logs: Any = self.aws.session.client("logs")
        return Tail(logs, GROUP, pattern=pattern, clock=lambda: NOW / 1000)

    def _filter(self, asked: dict[str, Any]) -> dict[str, Any]:
        assert asked["logGroupName"] == GROUP
        found = sorted(self.events, key=lambda it: it["timestamp"])
        found = [it for it in found if it["timestamp"] >= asked["startTime"]]
        if asked.get("startFromHead") is False:
            found.reverse()
        begin = int(asked.get("nextToken", 0))
        more = {"nextToken": str(begin + 2)} if len(found) > begin + 2 else {}
        return {"events": found[begin : begin + 2], **more}


@pytest.fixture
def log(aws: Aws) -> Log:
    return Log(aws)


def _texts(events: list[Any]) -> list[str]:
    return [it.message for it in events]


def test_the_last_lines_are_found_from_the_end_and_told_from_the_oldest_on(log: Log) -> None:
    for number in range(9):
        log.add(str(number), NOW + number * 2 * LATE_MS)
    found = log.tail().last(3, EARLIEST)
    assert _texts(found) == ["6", "7", "8"]
    assert found[0][:2] == (NOW + 12 * LATE_MS, "AllTraffic/i-1")
    assert len(log.aws.requests("logs.FilterLogEvents")) == 2  # pages, of five
    assert _texts(log.tail().last(100, EARLIEST)) == [str(it) for it in range(9)]
    assert log.tail().last(0, EARLIEST) == []


def test_lines_that_are_older_than_asked_for_are_not_told(log: Log) -> None:
    log.add("old", NOW - 61_000)
    log.add("new", NOW - 59_000)
    since = datetime.fromtimestamp(NOW / 1000, UTC) - timedelta(minutes=1)
    assert _texts(log.tail().last(10, since)) == ["new"]
    log.tail().last(10, datetime(2020, 1, 1, tzinfo=UTC))
    earliest = int(EARLIEST.timestamp() * 1000)
    assert log.aws.requests("logs.FilterLogEvents")[-1]["startTime"] == earliest


def test_what_comes_later_is_told_once_also_in_one_millisecond(log: Log) -> None:
    log.add("a", NOW)
    tail = log.tail()
    assert _texts(tail.last(10, EARLIEST)) == ["a"]
    assert tail.later() == []
    log.add("b", NOW)
    log.add("c", NOW + 1)
    assert _texts(tail.later()) == ["b", "c"]
    assert tail.later() == []


def test_what_comes_late_from_another_stream_is_told(log: Log) -> None:
    log.add("a", NOW)
    tail = log.tail()
    tail.last(10, EARLIEST)
    log.add("b", NOW - LATE_MS, "AllTraffic/i-2")
    assert _texts(tail.later()) == ["b"]
    assert tail.later() == []


def test_lines_that_were_not_wanted_do_not_come_later(log: Log) -> None:
    for number in range(9):
        log.add(str(number), NOW + number)
    tail = log.tail()
    assert _texts(tail.last(1, EARLIEST)) == ["8"]
    assert tail.later() == []


def test_a_group_that_is_empty_is_followed_from_now_on(log: Log) -> None:
    tail = log.tail()
    assert tail.last(10, EARLIEST) == []
    log.add("a", NOW + 1)
    assert _texts(tail.later()) == ["a"]


def test_what_was_told_is_forgotten_when_it_cannot_come_again(log: Log) -> None:
    tail = log.tail()
    for number in range(50):
        log.add(str(number), NOW + number * LATE_MS)
        assert _texts(tail.later()) == [str(number)]
    assert len(tail._seen) == 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", ""),
        ("a b", '"a b"'),
        ('a "b"', r'?"a \"b\"" ?"a \\\"b\\\""'),
        ("a\\b", r'?"a\\b" ?"a\\\\b"'),
    ],
)
def test_a_text_is_looked_for_as_it_is_shown(log: Log, text: str, expected: str) -> None:
    assert pattern(text) == expected
    log.tail(pattern(text)).last(1, EARLIEST)
    assert log.aws.requests("logs.FilterLogEvents")[0]["filterPattern"] == expected


@pytest.mark.parametrize("text", ['a "b"', "c:\\d", "plain", "umlauts like ä"])
def test_what_is_shown_is_found_as_json_too(text: str) -> None:
    matches = log_events.matcher(pattern(text), lambda _: lambda _: False)
    assert matches(f"before {text} after")
    assert matches(f"before {json.dumps(text, ensure_ascii=False)} after")
    assert not matches("something else")


def test_no_lines_of_an_empty_log_are_none(log: Log) -> None:
    assert log.tail().last(0, EARLIEST) == []


def test_what_is_older_than_asked_for_does_not_come_later(log: Log) -> None:
    log.add("old", NOW - 5000)
    tail = log.tail()
    assert tail.last(10, datetime.fromtimestamp((NOW - 1000) / 1000, UTC)) == []
    assert tail.later() == []
