"""FilterLogEvents: streams, pages and patterns."""

import importlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from ministack.services import cloudwatch_logs as logs

from local_sagemaker.cloudwatch import log_events

STREAMS = {"AllTraffic/i-1": ["Hello world", "ERROR 7"], "AllTraffic/i-2": ["WARN"], "other": ["x"]}


@pytest.fixture(autouse=True)
def _installed() -> Iterator[None]:
    """The reset logs module of ministack with one event per millisecond."""
    importlib.reload(logs)
    log_events.patch(logs)
    logs._create_log_group({"logGroupName": "g"})
    time = 0
    for name, messages in STREAMS.items():
        stream = {"logGroupName": "g", "logStreamName": name}
        logs._create_log_stream(stream)
        for message in messages:
            time += 1
            logs._put_log_events({**stream, "logEvents": [{"timestamp": time, "message": message}]})
    yield
    importlib.reload(logs)


def filter_log_events(**request: Any) -> tuple[int, dict[str, Any]]:
    status, _, body = logs._filter_log_events({"logGroupName": "g", **request})
    return status, json.loads(body)


def messages(**request: Any) -> list[str]:
    status, answer = filter_log_events(**request)
    assert status == 200, answer
    return [event["message"] for event in answer["events"]]


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ({"logStreamNamePrefix": "AllTraffic/"}, ["Hello world", "ERROR 7", "WARN"]),
        ({"logStreamNamePrefix": "absent"}, []),
        ({"logStreamNames": ["other"]}, ["x"]),
        ({"logStreamNames": ["absent"]}, []),
        ({"startTime": 2, "endTime": 3, "startFromHead": True}, ["ERROR 7", "WARN"]),
    ],
)
def test_selected_events(request_: dict[str, Any], expected: list[str]) -> None:
    assert messages(**request_) == expected


def test_pages_have_each_event_once() -> None:
    pages: list[list[str]] = []
    request: dict[str, Any] = {}
    while True:
        _, answer = filter_log_events(limit=2, **request)
        pages.append([event["message"] for event in answer["events"]])
        if "nextToken" not in answer:
            break
        request = {"nextToken": answer["nextToken"]}
    assert pages == [["Hello world", "ERROR 7"], ["WARN", "x"]]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("%^H[a-z]{4}%", ["Hello world"]),
        ("hello", []),
        ('"Hello world"', ["Hello world"]),
        ('"world Hello"', []),
        ("world Hello", ["Hello world"]),
        ("?ERROR ?WARN", ["ERROR 7", "WARN"]),
        ("-ERROR -WARN", ["Hello world", "x"]),
    ],
)
def test_filter_pattern(pattern: str, expected: list[str]) -> None:
    assert messages(filterPattern=pattern) == expected
