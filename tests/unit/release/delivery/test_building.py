"""Tests of parallel builds with fake Lambda functions."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError
from botocore.response import StreamingBody

from release.delivery import building, steps
from release.delivery.building import Builder
from release.delivery.errors import NotDelivered, Unfinished

TEXT, VISION = (
    {"Key": f"{name}.tar.gz", "Model": name, "Bucket": "models", "WaitMinutes": "50"}
    for name in ("text", "vision")
)


class FakeLambda:
    """The functions that start and poll builds.

    `polls` maps keys to the results of polls: whether the build is complete, or its error. `queued`
    maps keys to the number of polls before the build starts. With `starts_at_once`, as in older
    commits, the start function starts builds itself, except those in `has_archive`.
    """

    def __init__(self) -> None:
        self.polls: dict[str, list[bool | str]] = {}
        self.started: list[dict[str, Any]] = []
        self.queued: dict[str, int] = {}
        self.starts_at_once = False
        self.has_archive: set[str] = set()
        self.expires_after: int | None = None

    def invoke(self, *, FunctionName: str, Payload: str) -> dict[str, Any]:  # noqa: N803
        if self.expires_after == 0:
            raise ClientError({"Error": {"Code": "ExpiredTokenException"}}, "Invoke")
        if self.expires_after is not None:
            self.expires_after -= 1
        event = json.loads(Payload)
        key = event["ResourceProperties"]["Key"]
        if FunctionName == "start":
            self.started.append(event)
            if self.starts_at_once:
                started = {"BuildId": f"b:{key[0]}", "Deadline": 7}
                return _response({} if key in self.has_archive else started)
            return _response({"PhysicalResourceId": "model", "Deadline": 7})
        assert FunctionName == "poll"
        assert event["Deadline"] == 7
        if self.queued.get(key):
            self.queued[key] -= 1
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
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture
def functions(monkeypatch: pytest.MonkeyPatch) -> FakeLambda:
    clock = Clock()
    monkeypatch.setattr(building, "time", clock)
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
    assert [event["ResourceProperties"] for event in functions.started] == [
        {**TEXT, "WaitMinutes": "143"},
        {**VISION, "WaitMinutes": "143"},
    ]
    assert {event["RequestType"] for event in functions.started} == {"Create"}
    assert len({event["RequestId"] for event in functions.started}) == 2
    assert output() == [
        "  waiting for builds: text.tar.gz (b:t), vision.tar.gz (b:v)",
        "  built text.tar.gz (0 min)",
        "  built vision.tar.gz (0 min)",
    ]


def test_start_functions_of_older_commits_start_builds(
    functions: FakeLambda, output: Callable[[], list[str]]
) -> None:
    functions.starts_at_once = True
    functions.has_archive = {"vision.tar.gz"}
    functions.polls = {"text.tar.gz": [False, True]}
    Builder(functions, "start", "poll", 143).build([TEXT, VISION])
    assert output() == ["  waiting for builds: text.tar.gz (b:t)", "  built text.tar.gz (0 min)"]


def test_build_waits_for_a_place_in_the_queue(
    functions: FakeLambda, output: Callable[[], list[str]]
) -> None:
    functions.queued = {"text.tar.gz": 7}
    functions.polls = {"text.tar.gz": [True], "vision.tar.gz": [True]}
    Builder(functions, "start", "poll", 143).build([TEXT, VISION])
    assert output() == [
        "  waiting for builds: text.tar.gz (not started yet), vision.tar.gz (b:v)",
        "  built vision.tar.gz (0 min)",
        "  waiting for builds: text.tar.gz (not started yet)",
        "  built text.tar.gz (1 min)",
    ]


def test_wait_is_reported_every_minute(
    functions: FakeLambda, output: Callable[[], list[str]]
) -> None:
    functions.polls = {"text.tar.gz": [*[False] * 13, True]}
    Builder(functions, "start", "poll", 143).build([TEXT])
    assert output() == [
        *3 * ["  waiting for builds: text.tar.gz (b:t)"],
        "  built text.tar.gz (2 min)",
    ]


@pytest.mark.parametrize("failing", [TEXT, VISION])
def test_failed_build_is_reported_with_running_builds(
    functions: FakeLambda, failing: dict[str, str]
) -> None:
    functions.polls = {"text.tar.gz": [False, False], "vision.tar.gz": [False, False]}
    functions.polls[failing["Key"]][1] = "Build failed: the gate"
    with pytest.raises(NotDelivered) as raised:
        Builder(functions, "start", "poll", 143).build([TEXT, VISION])
    other = "vision.tar.gz (b:v)" if failing is TEXT else "text.tar.gz (b:t)"
    assert str(raised.value) == (
        f"{failing['Key']}: Build failed: the gate\n  still running in CodeBuild: {other}"
    )


@pytest.mark.parametrize(
    ("calls", "running"),
    [(1, "text.tar.gz (b:t)"), (2, "text.tar.gz (b:t), vision.tar.gz (b:v)")],
    ids=["starting", "polling"],
)
def test_expired_credentials_are_reported_with_running_builds(
    functions: FakeLambda, calls: int, running: str
) -> None:
    functions.starts_at_once = True
    functions.expires_after = calls
    with pytest.raises(Unfinished) as raised:
        Builder(functions, "start", "poll", 143).build([TEXT, VISION])
    first, second = str(raised.value).splitlines()
    assert first.startswith("the credentials have expired: get new ones")
    assert second == f"  still running in CodeBuild: {running}"
