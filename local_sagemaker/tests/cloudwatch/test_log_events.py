"""FilterLogEvents, asked of ministack's own store of events."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from ministack.services import cloudwatch_logs

from local_sagemaker.cloudwatch.log_events import (
    MOST_EVENTS,
    NEWEST_FIRST_SINCE,
    LogEvents,
    matcher,
)

GROUP = "group"
NOW = NEWEST_FIRST_SINCE + 1000


@pytest.fixture
def logs() -> Iterator[Any]:
    """ministack's module with an empty group of two streams."""
    cloudwatch_logs._create_log_group({"logGroupName": GROUP})
    for stream in ("a/1", "b/1"):
        _create({"logGroupName": GROUP, "logStreamName": stream})
    yield cloudwatch_logs
    cloudwatch_logs._delete_log_group({"logGroupName": GROUP})


def _create(stream: dict[str, str]) -> None:
    cloudwatch_logs._create_log_stream(stream)


def _put(logs: Any, *messages: str, stream: str = "a/1", time: int = NOW) -> None:
    events = [{"timestamp": time, "message": it} for it in messages]
    logs._put_log_events({"logGroupName": GROUP, "logStreamName": stream, "logEvents": events})


def _answer(logs: Any, **request: Any) -> tuple[int, dict[str, Any]]:
    status, _, body = LogEvents(logs).filter({"logGroupName": GROUP, **request})
    return status, json.loads(body)


def _messages(logs: Any, **request: Any) -> list[str]:
    status, answer = _answer(logs, **request)
    assert status == 200
    return [it["message"] for it in answer["events"]]


def test_events_come_in_the_order_of_time_and_of_being_put(logs: Any) -> None:
    _put(logs, "3", "4", time=NOW + 1)
    _put(logs, "1", "2", stream="b/1")
    assert _messages(logs) == ["1", "2", "3", "4"]
    newest = {"startFromHead": False, "startTime": NEWEST_FIRST_SINCE}
    assert _messages(logs, **newest) == ["4", "3", "2", "1"]
    _, answer = _answer(logs)
    assert [it["logStreamName"] for it in answer["events"]] == ["b/1", "b/1", "a/1", "a/1"]


@pytest.mark.parametrize("newest_first", [False, True])
def test_pages_have_a_token_until_there_is_no_more(logs: Any, newest_first: bool) -> None:
    _put(logs, "1", "2", "3", "4", "5")
    request = {"limit": 2, "startFromHead": not newest_first, "startTime": NEWEST_FIRST_SINCE}
    pages, token = [], None
    while True:
        _, answer = _answer(logs, **request, **({"nextToken": token} if token else {}))
        pages.append([it["message"] for it in answer["events"]])
        token = answer.get("nextToken")
        if token is None:
            break
        _put(logs, "later", time=NOW + len(pages))
        request.pop("startFromHead", None)  # the token's direction counts
    expected = [["5", "4"], ["3", "2"], ["1"]]
    if not newest_first:
        expected = [["1", "2"], ["3", "4"], ["5", "later"], ["later", "later"]]
    assert pages[: len(expected)] == expected


def test_a_page_is_no_larger_than_what_aws_sends(logs: Any) -> None:
    _put(logs, *(str(it) for it in range(MOST_EVENTS + 1)))
    assert len(_messages(logs)) == MOST_EVENTS
    large = "x" * 600_000
    _put(logs, large, large, stream="b/1", time=NOW - 1)
    _, answer = _answer(logs)
    assert (len(answer["events"]), "nextToken" in answer) == (1, True)


def test_times_and_streams_narrow_what_is_looked_at(logs: Any) -> None:
    for number in range(4):
        _put(logs, str(number), time=NOW + number)
    _put(logs, "b", stream="b/1")
    assert _messages(logs, startTime=NOW + 1, endTime=NOW + 2) == ["1", "2"]
    assert _messages(logs, logStreamNames=["b/1"]) == ["b"]
    assert _messages(logs, logStreamNamePrefix="b/") == ["b"]
    assert _messages(logs, filterPattern='"1"') == ["1"]


def test_events_that_ministack_itself_has_put_have_ids_that_stay(logs: Any) -> None:
    events = logs._log_groups[GROUP]["streams"]["a/1"]["events"]
    events.append({"timestamp": NOW, "message": "of a function"})
    (first,), (second,) = (_answer(logs)[1]["events"] for _ in range(2))
    assert first == second
    assert first["eventId"]
    assert first["ingestionTime"] == NOW


@pytest.mark.parametrize(
    ("request_", "code"),
    [
        ({"nextToken": "x"}, "InvalidParameterException"),
        ({"startFromHead": False}, "InvalidParameterException"),
        (
            {"startFromHead": False, "startTime": NEWEST_FIRST_SINCE - 1},
            "InvalidParameterException",
        ),
        ({"logStreamNames": ["a"], "logStreamNamePrefix": "a"}, "InvalidParameterException"),
        ({"logGroupName": "other"}, "ResourceNotFoundException"),
    ],
)
def test_what_aws_refuses_is_refused(logs: Any, request_: dict[str, Any], code: str) -> None:
    status, answer = _answer(logs, **request_)
    assert (status, answer["__type"]) == (400, code)


@pytest.mark.parametrize(
    ("pattern", "matching"),
    [
        ("", {"", "ERROR", "no ERROR here", "error", "here no", 'say "a\\b"'}),
        ("ERROR", {"ERROR", "no ERROR here"}),
        ("ERROR here", {"no ERROR here"}),
        ('"no ERROR"', {"no ERROR here"}),
        ('"no here"', set()),
        ("?ERROR ?error", {"ERROR", "no ERROR here", "error"}),
        ("ERROR -here", {"ERROR"}),
        ('-"here no" here', {"no ERROR here"}),
        ('"say \\"a\\\\b\\""', {'say "a\\b"'}),
    ],
)
def test_words_and_phrases_match_as_they_are_written(pattern: str, matching: set[str]) -> None:
    messages = {"", "ERROR", "no ERROR here", "error", "here no", 'say "a\\b"'}
    matches = matcher(pattern, lambda _: pytest.fail(pattern))
    assert set(filter(matches, messages)) == matching


@pytest.mark.parametrize(
    ("pattern", "matching"),
    [
        ("%^E[0-9]{4}%", {"E1122 20:37 failed"}),
        ("%E1122|W1122%", {"E1122 20:37 failed", "I1122 of E1122", "W1122 late"}),
    ],
)
def test_a_regular_expression_matches_anywhere_unless_it_is_anchored(
    pattern: str, matching: set[str]
) -> None:
    messages = {"E1122 20:37 failed", "I1122 of E1122", "W1122 late", "ERROR"}
    matches = matcher(pattern, lambda _: pytest.fail(pattern))
    assert set(filter(matches, messages)) == matching


@pytest.mark.parametrize("pattern", ["%(a|b)%", "%a b%", "%a!%", "%[a%", "%a"])
def test_a_regular_expression_that_aws_does_not_support_is_refused(logs: Any, pattern: str) -> None:
    status, answer = _answer(logs, filterPattern=pattern)
    assert (status, answer["__type"]) == (400, "InvalidParameterException")


@pytest.mark.parametrize("pattern", ["{ $.a = 1 }", "[a, b]"])
def test_other_patterns_are_left_to_ministack(pattern: str) -> None:
    assert matcher(pattern, lambda it: lambda _: it == pattern)("anything")
