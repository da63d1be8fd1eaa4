"""FilterLogEvents: regular expressions and rejected members."""

import importlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from ministack.services import cloudwatch_logs as logs

from local_sagemaker.cloudwatch import log_events


@pytest.fixture(autouse=True)
def _installed() -> Iterator[None]:
    """The reset logs module of ministack with one event."""
    importlib.reload(logs)
    log_events.patch(logs)
    stream = {"logGroupName": "g", "logStreamName": "s"}
    logs._create_log_group({"logGroupName": "g"})
    logs._create_log_stream(stream)
    logs._put_log_events({**stream, "logEvents": [{"timestamp": 1, "message": "hello"}]})
    yield
    importlib.reload(logs)


def filter_log_events(**request: Any) -> tuple[int, dict[str, Any]]:
    status, _, body = logs._filter_log_events({"logGroupName": "g", **request})
    return status, json.loads(body)


@pytest.mark.parametrize(
    ("pattern", "events"), [("%^h[a-z]{4}$%", 1), ("%^H%", 0), ("%lo%", 1), ("hello", 1)]
)
def test_filter_pattern(pattern: str, events: int) -> None:
    status, answer = filter_log_events(filterPattern=pattern)
    assert (status, len(answer["events"])) == (200, events)


@pytest.mark.parametrize("pattern", ["%a(b)%", "%[a%", "%a"])
def test_invalid_regular_expression_is_rejected(pattern: str) -> None:
    status, answer = filter_log_events(filterPattern=pattern)
    assert (status, answer["__type"]) == (400, "InvalidParameterException")
    assert "Invalid filter pattern" in answer["message"]


@pytest.mark.parametrize("member", ["logStreamNamePrefix", "startFromHead"])
def test_unsupported_member_is_rejected(member: str) -> None:
    status, answer = filter_log_events(**{member: False})
    assert (status, answer["__type"]) == (400, "InvalidParameterException")
    assert member in answer["message"]
