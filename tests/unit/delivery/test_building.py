"""Tests of parallel builds with fake Lambda functions."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.response import StreamingBody

from delivery import archives, steps
from delivery.archives import Builder
from delivery.errors import NotDelivered, Unfinished

TEXT, VISION = (
    {"Key": f"{name}.tar.gz", "Model": name, "Bucket": "models", "WaitMinutes": "50"}
    for name in ("text", "vision")
)


class FakeLambda:
    """A Lambda client with the functions that start and poll builds.

    `polls` maps keys to the results of polls: whether the build is complete, or its error.
    `queue_polls` maps keys to the number of polls before the build starts. Credentials expire after
    `calls_before_expiry` calls.
    """

    def __init__(self) -> None:
        self.polls: dict[str, list[bool | str]] = {}
        self.start_events: list[dict[str, Any]] = []
        self.queue_polls: dict[str, int] = {}
        self.calls_before_expiry: int | None = None

    def invoke(self, *, FunctionName: str, Payload: str) -> dict[str, Any]:  # noqa: N803
        if self.calls_before_expiry == 0:
            raise ClientError({"Error": {"Code": "ExpiredTokenException"}}, "Invoke")
        if self.calls_before_expiry is not None:
            self.calls_before_expiry -= 1
        event = json.loads(Payload)
        key = event["ResourceProperties"]["Key"]
        if FunctionName == "start":
            self.start_events.append(event)
            return _response({"PhysicalResourceId": "model", "Deadline": 7})
        assert FunctionName == "poll"
        assert event["Deadline"] == 7
        if self.queue_polls.get(key):
            self.queue_polls[key] -= 1
            return _response({"IsComplete": False})
        if "BuildId" not in event:
            return _response({"IsComplete": False, "BuildId": f"b:{key[0]}"})
        assert event["BuildId"] == f"b:{key[0]}"
        output = self.polls[key].pop(0)
        if isinstance(output, str):
            return {**_response({"errorMessage": output}), "FunctionError": "Unhandled"}
        return _response({"IsComplete": output})


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
    clock = Clock()
    monkeypatch.setattr(archives, "time", clock)
    monkeypatch.setattr(steps, "time", clock)
    monkeypatch.setattr(steps, "POLL_SECONDS", 10)
    return FakeLambda()


@pytest.fixture
def output(capsys: pytest.CaptureFixture[str]) -> Callable[[], list[str]]:
    return lambda: capsys.readouterr().out.splitlines()


def test_builds_run_in_parallel_with_their_own_time_limit(
    functions: FakeLambda, output: Callable[[], list[str]]
) -> None:
    functions.polls = {"text.tar.gz": [False, True], "vision.tar.gz": [False, False, True]}
    Builder(functions, "start", "poll", 143).build([TEXT, VISION])
    assert [event["ResourceProperties"] for event in functions.start_events] == [
        {**TEXT, "WaitMinutes": "143"},
        {**VISION, "WaitMinutes": "143"},
    ]
    assert {event["RequestType"] for event in functions.start_events} == {"Create"}
    assert len({event["RequestId"] for event in functions.start_events}) == 2
    assert output() == [
        "  waiting for builds: text.tar.gz (b:t), vision.tar.gz (b:v)",
        "  built text.tar.gz (0 min)",
        "  built vision.tar.gz (0 min)",
    ]


def test_queued_build_is_reported_every_minute(
    functions: FakeLambda, output: Callable[[], list[str]]
) -> None:
    functions.queue_polls = {"text.tar.gz": 7}
    functions.polls = {"text.tar.gz": [True], "vision.tar.gz": [True]}
    Builder(functions, "start", "poll", 143).build([TEXT, VISION])
    assert output() == [
        "  waiting for builds: text.tar.gz (not started yet), vision.tar.gz (b:v)",
        "  built vision.tar.gz (0 min)",
        "  waiting for builds: text.tar.gz (not started yet)",
        "  built text.tar.gz (1 min)",
    ]


def test_failed_build_is_reported_with_running_builds(functions: FakeLambda) -> None:
    functions.polls = {"text.tar.gz": [False, False], "vision.tar.gz": [False, "Build failed"]}
    with pytest.raises(NotDelivered, match=r"failed\n  still running .*: text\.tar\.gz \(b:t"):
        Builder(functions, "start", "poll", 143).build([TEXT, VISION])


def test_expired_credentials_are_reported_with_running_builds(functions: FakeLambda) -> None:
    functions.calls_before_expiry = 4
    with pytest.raises(Unfinished) as raised:
        Builder(functions, "start", "poll", 143).build([TEXT, VISION])
    first, second = str(raised.value).splitlines()
    assert first.startswith("the credentials have expired: get new ones")
    assert second == "  still running in CodeBuild: text.tar.gz (b:t), vision.tar.gz (b:v)"
