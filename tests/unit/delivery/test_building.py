"""Tests of parallel builds with fake Lambda functions."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.response import StreamingBody

from delivery import steps
from delivery.archives import Builder
from delivery.errors import NotDelivered

LISTS = {
    name: {"List": f"assets/{name}.jsonl", "Bucket": "models", "WaitMinutes": "50"}
    for name in ("text", "vision")
}
RUNNING = {"IsComplete": False, "Built": 1, "Archives": 1250, "Builds": ["b:1", "b:2"]}
QUEUED = {"IsComplete": False, "Built": 0, "Archives": 2, "Builds": []}
COMPLETE = {"IsComplete": True}


class FakeLambda:
    """A Lambda client with the functions that start and poll builds.

    `polls` maps names of lists to responses of polls, or errors; the last one is repeated.
    Credentials expire after `calls_before_expiry` calls.
    """

    def __init__(self) -> None:
        self.polls: dict[str, list[dict[str, Any] | str]] = {}
        self.start_events: list[dict[str, Any]] = []
        self.calls_before_expiry: int | None = None

    def invoke(self, *, FunctionName: str, Payload: str) -> dict[str, Any]:  # noqa: N803
        if self.calls_before_expiry == 0:
            raise ClientError({"Error": {"Code": "ExpiredTokenException"}}, "Invoke")
        if self.calls_before_expiry is not None:
            self.calls_before_expiry -= 1
        event = json.loads(Payload)
        if FunctionName == "start":
            self.start_events.append(event)
            return _response({"PhysicalResourceId": "archives", "Deadline": 7})
        assert (FunctionName, event["Deadline"]) == ("poll", 7)
        polls = self.polls[event["ResourceProperties"]["List"][7:-6]]
        output = polls.pop(0) if len(polls) > 1 else polls[0]
        if isinstance(output, str):
            return {**_response({"errorMessage": output}), "FunctionError": "Unhandled"}
        return _response(output)


def _response(output: dict[str, Any]) -> dict[str, Any]:
    body = json.dumps(output).encode()
    return {"Payload": StreamingBody(io.BytesIO(body), len(body))}


class Clock:
    """A clock that advances only by `sleep`."""

    def __init__(self) -> None:
        self._seconds = 1000.0

    def monotonic(self) -> float:
        return self._seconds

    def sleep(self, seconds: float) -> None:
        self._seconds += seconds


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> FakeLambda:
    monkeypatch.setattr(steps, "time", Clock())
    monkeypatch.setattr(steps, "POLL_SECONDS", 10)
    return FakeLambda()


@pytest.fixture
def output(capsys: pytest.CaptureFixture[str]) -> Callable[[], list[str]]:
    return lambda: capsys.readouterr().out.splitlines()


def test_lists_are_built_in_parallel_and_reported_every_minute(
    functions: FakeLambda, output: Callable[[], list[str]]
) -> None:
    throttled = {"IsComplete": False}
    functions.polls = {"text": [throttled, COMPLETE], "vision": [QUEUED, *[RUNNING] * 6, COMPLETE]}
    Builder(functions, "start", "poll", 143).build(LISTS)
    assert [event["ResourceProperties"] for event in functions.start_events] == [
        {**properties, "WaitMinutes": "143"} for properties in LISTS.values()
    ]
    assert {event["RequestType"] for event in functions.start_events} == {"Create"}
    assert len({event["RequestId"] for event in functions.start_events}) == 2
    assert output() == [
        "  waiting for builds: text: not started yet, "
        "vision: 0 of 2 archives built (not started yet)",
        "  text: all archives are built",
        "  waiting for builds: vision: 1 of 1,250 archives built (b:1, b:2)",
        "  vision: all archives are built",
    ]


def test_failed_build_is_reported_with_running_builds(functions: FakeLambda) -> None:
    functions.polls = {"text": [RUNNING], "vision": [RUNNING, "Build failed"]}
    with pytest.raises(NotDelivered) as raised:
        Builder(functions, "start", "poll", 143).build(LISTS)
    assert str(raised.value) == ("vision: Build failed\n  still running in CodeBuild: b:1, b:2")
