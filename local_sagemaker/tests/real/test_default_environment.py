"""Multi-model endpoints without the environment variable of the ping mode.

Triton's /ping does not return 200 during a load or after a failed load. The interval between pings
is shortened.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from local_sagemaker.dashboard_events import DashboardEvent, EventKind
from local_sagemaker.hosting import health
from local_sagemaker.hosting.triton import Response, Triton
from local_sagemaker.tests.real.test_faults_hangs import BUCKET, Caller, caller_of
from local_sagemaker.tests.support.fake_s3 import FakeS3
from local_sagemaker.tests.support.tiny_models import CANNOT_LOAD, Barrier, pack_python, times
from local_sagemaker.tests.support.waiting import TIMEOUT_SECONDS, eventually

PINGS = 10
"""Number of failed pings; more than three of them must not replace a container."""


class Pings:
    """A counter of the pings whose status is not 200."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, events: list[DashboardEvent]) -> None:
        self.failed, self._events = 0, events
        request = Triton.request

        def count_failures(triton: Triton, method: str, path: str, **options: Any) -> Response:
            answer = request(triton, method, path, **options)
            if path == "/ping" and answer.status != 200:
                self.failed += 1
            return answer

        monkeypatch.setattr(Triton, "request", count_failures)

    def wait_for_failures(self) -> None:
        """Wait until `PINGS` more pings have failed; no container may be replaced."""
        target = self.failed + PINGS
        eventually(lambda: self.failed >= target or self._has_replaced())
        assert not self._has_replaced()

    def _has_replaced(self) -> bool:
        return any(event.kind is EventKind.INSTANCE_REPLACED for event in list(self._events))


@pytest.fixture
def pings(monkeypatch: pytest.MonkeyPatch, events: list[DashboardEvent]) -> Pings:
    monkeypatch.setattr(health, "PING_SECONDS", 0.01)
    # A ping may wait for the thread of a load.
    monkeypatch.setattr(health, "PING_TIMEOUT_SECONDS", 1.0)
    return Pings(monkeypatch, events)


@pytest.fixture
def bucket() -> FakeS3:
    return FakeS3()


@pytest.fixture
def upload(bucket: FakeS3, tmp_path: Path) -> Callable[[str, str], None]:
    def upload(model: str, code: str) -> None:
        bucket.objects[BUCKET, f"{model}.tar.gz"] = pack_python(tmp_path / model, code)

    return upload


@pytest.fixture
def events() -> list[DashboardEvent]:
    return []


@pytest.fixture
def caller(
    pings: Pings, bucket: FakeS3, events: list[DashboardEvent], tmp_path: Path
) -> Iterator[Caller]:
    """A caller of a multi-model instance whose container has no environment variables."""
    with caller_of(bucket, tmp_path, {}, report_event=events.append) as caller:
        yield caller


def test_other_models_answer_during_a_long_load(
    caller: Caller,
    pings: Pings,
    upload: Callable[[str, str], None],
    events: list[DashboardEvent],
    new_barrier: Callable[[], Barrier],
) -> None:
    upload("twice", times(2))
    assert caller.ask("twice") == 14
    barrier = new_barrier()
    upload("slow", barrier.stops(3, at="initialize"))
    slow = caller.start_call("slow")
    barrier.wait_until_reached()
    pings.wait_for_failures()
    assert caller.ask("twice") == 14
    barrier.open()
    assert slow.result(TIMEOUT_SECONDS) == 21
    eventually(lambda: events[-1].kind is EventKind.INSTANCE_HEALTHY)
    assert events[-1].message == "The container passes the ping health check again."
    unhealthy = [event.message for event in events if event.kind is EventKind.INSTANCE_UNHEALTHY]
    assert all(
        message.startswith("The container fails the ping health check:") for message in unhealthy
    )


def test_other_models_answer_after_a_failed_load(
    caller: Caller, pings: Pings, upload: Callable[[str, str], None]
) -> None:
    upload("broken", times(2).replace(*CANNOT_LOAD))
    status, code, _ = caller.failure("broken")
    assert (status, code) == (424, "ModelError")
    pings.wait_for_failures()
    upload("twice", times(2))
    assert caller.ask("twice") == 14
    pings.wait_for_failures()
    assert caller.ask("twice") == 14
