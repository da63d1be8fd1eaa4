"""FilterLogEvents of ministack, and what is rejected before it."""

import importlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from ministack.services import cloudwatch_logs as logs

from local_sagemaker.cloudwatch import log_events


@pytest.fixture(autouse=True)
def _installed() -> Iterator[None]:
    """ministack's module with one event, and afterwards as it was."""
    importlib.reload(logs)
    log_events.install(logs)
    place = {"logGroupName": "g", "logStreamName": "s"}
    logs._create_log_group({"logGroupName": "g"})
    logs._create_log_stream(place)
    logs._put_log_events({**place, "logEvents": [{"timestamp": 1, "message": "hello"}]})
    yield
    importlib.reload(logs)


def filtered(**request: Any) -> tuple[int, dict[str, Any]]:
    status, _, body = logs._filter_log_events({"logGroupName": "g", **request})
    return status, json.loads(body)


def test_events_are_answered() -> None:
    status, answer = filtered(filterPattern="hello", logStreamNames=["s"])
    assert status == 200
    assert [event["message"] for event in answer["events"]] == ["hello"]


@pytest.mark.parametrize(("pattern", "events"), [("%^h[a-z]{4}$%", 1), ("%^H%", 0), ("%lo%", 1)])
def test_a_pattern_may_be_a_regular_expression(pattern: str, events: int) -> None:
    status, answer = filtered(filterPattern=pattern)
    assert (status, len(answer["events"])) == (200, events)


@pytest.mark.parametrize("pattern", ["%a(b)%", "%[a%", "%a"])
def test_an_invalid_regular_expression_is_rejected(pattern: str) -> None:
    status, answer = filtered(filterPattern=pattern)
    assert (status, answer["__type"]) == (400, "InvalidParameterException")
    assert "Invalid filter pattern" in answer["message"]


@pytest.mark.parametrize("member", ["logStreamNamePrefix", "startFromHead"])
def test_members_that_ministack_ignores_are_rejected_by_name(member: str) -> None:
    status, answer = filtered(**{member: False})
    assert (status, answer["__type"]) == (400, "InvalidParameterException")
    assert member in answer["message"]
