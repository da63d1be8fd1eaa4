import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import pytest
import uvloop

from local_sagemaker.dashboard_events import EventKind
from local_sagemaker.errors import ApiError, LocalSageMakerError
from local_sagemaker.hosting import instance as instance_module
from local_sagemaker.hosting.capacity import Capacity
from local_sagemaker.hosting.container import Call
from local_sagemaker.hosting.instance import Instance, RunningServer
from local_sagemaker.hosting.invocation import Invocation
from local_sagemaker.hosting.triton import UnhealthyError
from local_sagemaker.tests.support.waiting import TIMEOUT_SECONDS, eventually


class FakeServer:
    """A fake Triton and its container; an invocation returns the number of the server.

    `load` is a future that calls await while the model loads. `pings` are the results of pings; the
    last one is repeated. The process runs until `dead` is set.
    """

    def __init__(self, number: int) -> None:
        self.number = number
        self.healthy = threading.Event()
        self.healthy.set()
        self.dead = threading.Event()
        self.stopped = False
        self.load: Any = None
        self.pings = [True]
        self.calls = 0
        self.unloaded = False
        self.connections: Any = self

    def wait_until_healthy(self, timeout: float) -> None:
        assert timeout == TIMEOUT_SECONDS
        self.healthy.wait()
        if self.dead.is_set():
            raise UnhealthyError("Log: /home/me/triton.log\nno backend")

    def wait(self, timeout: float) -> bool:
        assert timeout > 0
        return self.dead.wait(None if self.pings == [True] else 0)

    def failed_ping(self, timeout: float) -> str | None:
        assert timeout > 0
        is_passed = self.pings.pop(0) if len(self.pings) > 1 else self.pings[0]
        return None if is_passed else "GET /ping is answered with 400"

    def stop(self) -> None:
        self.stopped = True
        self.dead.set()
        self.healthy.set()

    def acquire(self, target_model: str | None) -> Call:
        self.calls += 1
        return Call(str(self.number), target_model, self.load)

    def release(self, _: Call, *, unloaded: bool = False) -> None:
        self.calls -= 1
        self.unloaded = unloaded

    async def take(self) -> "FakeConnection":
        if self.dead.is_set():
            raise ConnectionError("the container disconnected")
        return FakeConnection()

    def give_back(self, connection: "FakeConnection", *, is_reusable: bool) -> None:
        connection.given_back, connection.closed = is_reusable, not is_reusable


class FakeConnection:
    """A fake connection that records whether it was returned or closed."""

    all: ClassVar[list["FakeConnection"]] = []

    def __init__(self) -> None:
        self.given_back = self.closed = False
        self.all.append(self)


class FakeInvocation(Invocation):
    """A fake invocation: stores the forwarded path as the answer, or raises `outcome`."""

    def __init__(self, outcome: bool | Exception = True) -> None:
        unused: Any = None
        super().__init__({b"x-amzn-sagemaker-target-model": b"m"}, unused, unused)
        self.outcome, self.answer = outcome, ""

    async def forward(self, connection: Any, path: str) -> bool:
        assert not connection.given_back
        if isinstance(self.outcome, Exception):
            raise self.outcome
        self.answer = path
        return self.outcome


class Servers:
    """Starts fake servers, configured by `on_start`, and records them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[FakeServer] = []
        self.on_start: Callable[[FakeServer], None] = lambda _: None

    def start_server(self) -> RunningServer:
        server: Any = FakeServer(len(self.started))
        self.started.append(server)
        self.on_start(server)
        folder = self.folder / str(server.number)
        (folder / "models").mkdir(parents=True)
        (folder / "triton.log").touch()
        return RunningServer(server, server, folder, Capacity(memory=1, disk=1))


@pytest.fixture
def servers(tmp_path: Path) -> Servers:
    return Servers(tmp_path)


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The recorded delays before restarts; the test does not wait."""
    pauses: list[float] = []
    before = set(threading.enumerate())  # threads of earlier tests are not recorded
    wait = threading.Event.wait

    def record_wait(self: threading.Event, timeout: float | None = None) -> bool:
        if timeout and timeout < TIMEOUT_SECONDS and threading.current_thread() not in before:
            pauses.append(timeout)
            timeout = 0
        return wait(self, timeout)

    monkeypatch.setattr(instance_module, "INVOKE_SECONDS", TIMEOUT_SECONDS)
    monkeypatch.setattr(threading.Event, "wait", record_wait)
    return pauses


@pytest.fixture
def instance(servers: Servers) -> Iterator[Instance]:
    """An instance in service."""
    instance = Instance("only", servers.start_server)
    instance.start()
    instance.wait_until_healthy(TIMEOUT_SECONDS)
    yield instance
    instance.stop()


def invoke(instance: Instance, outcome: bool | Exception = True) -> str:
    invocation = FakeInvocation(outcome)
    uvloop.run(instance.invoke(invocation))
    return str(invocation.answer)


def refusal(instance: Instance, outcome: bool | Exception = True) -> tuple[str, int, str]:
    with pytest.raises(ApiError) as rejected:
        invoke(instance, outcome)
    return rejected.value.code, rejected.value.status, rejected.value.message


def test_service_is_unavailable_without_a_healthy_server(
    instance: Instance, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers.on_start = lambda server: server.healthy.clear()
    servers.started[0].dead.set()
    eventually(lambda: len(servers.started) == 2)
    monkeypatch.setattr(instance_module, "INVOKE_SECONDS", 0.01)
    with pytest.raises(ApiError, match="Variant only has no healthy instance") as rejected:
        invoke(instance)
    assert (rejected.value.code, rejected.value.status) == ("ServiceUnavailable", 503)


def test_restarts_use_exponential_backoff(
    instance: Instance, servers: Servers, pauses: list[float]
) -> None:
    servers.on_start = lambda server: server.dead.set() if server.number < 12 else None
    servers.started[0].dead.set()
    eventually(lambda: len(servers.started) == 13)
    assert invoke(instance) == "12"
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 60.0, 60.0]
    assert all(server.stopped for server in servers.started[:12])


def test_backoff_is_reset_after_a_stable_run(
    instance: Instance, servers: Servers, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    servers.on_start = lambda server: server.dead.set() if server.number < 3 else None
    servers.started[0].dead.set()
    eventually(lambda: len(servers.started) == 4)
    assert invoke(instance) == "3"
    monkeypatch.setattr(instance_module, "STABLE_SECONDS", 0)
    servers.started[3].dead.set()
    eventually(lambda: len(servers.started) == 5)
    assert pauses == [0.1, 0.2, 0.4, 0.1]


def test_events_of_a_replacement_have_a_new_instance_id(
    servers: Servers,
) -> None:
    messages: list[tuple[str, EventKind]] = []

    def start_server() -> RunningServer:
        server = servers.start_server()
        id_ = server.folder.name
        return replace(server, id=id_, report_event=lambda kind, _: messages.append((id_, kind)))

    instance = Instance("only", start_server)
    instance.start()
    assert (instance.state, instance.server and instance.server.id) == ("starting", "0")
    instance.wait_until_healthy(TIMEOUT_SECONDS)
    assert instance.state == "serving"
    servers.started[0].dead.set()
    eventually(lambda: ("1", EventKind.INSTANCE_HEALTHY) in messages)
    instance.leave()
    assert instance.state == "leaving"
    instance.stop()
    assert instance.server is None
    assert messages == [
        ("0", EventKind.INSTANCE_HEALTHY),
        ("0", EventKind.INSTANCE_REPLACED),
        ("0", EventKind.INSTANCE_ENDED),
        ("1", EventKind.INSTANCE_HEALTHY),
        ("1", EventKind.INSTANCE_LEAVING),
        ("1", EventKind.INSTANCE_ENDED),
    ]


def test_stopped_instance_is_not_restarted(
    instance: Instance, servers: Servers, pauses: list[float]
) -> None:
    instance.stop()
    eventually(lambda: pauses)
    assert [server.stopped for server in servers.started] == [True]
    with pytest.raises(ApiError, match="no healthy instance"):
        invoke(instance)
    with pytest.raises(LocalSageMakerError, match="the instances were stopped while they started"):
        instance.start()
    assert servers.started[1].stopped


def test_waiting_invocation_fails_when_the_instance_is_stopped(
    instance: Instance, servers: Servers
) -> None:
    servers.on_start = lambda server: server.healthy.clear()
    servers.started[0].dead.set()
    eventually(lambda: len(servers.started) == 2)
    with ThreadPoolExecutor(1) as pool:
        rejected = pool.submit(refusal, instance)
        instance.stop()
        assert rejected.result()[:2] == ("ServiceUnavailable", 503)


# Invocations


@pytest.mark.parametrize("is_complete", [True, False])
def test_connection_is_reused_after_a_complete_exchange(
    instance: Instance, servers: Servers, is_complete: bool
) -> None:
    assert invoke(instance, outcome=is_complete) == "0"
    connection = FakeConnection.all[-1]
    assert (connection.given_back, connection.closed) == (is_complete, not is_complete)
    assert servers.started[0].calls == 0


# Loads


async def test_model_latency_excludes_loading_time(instance: Instance, servers: Servers) -> None:
    servers.started[0].load = load = asyncio.get_running_loop().create_future()
    first = FakeInvocation()
    task = asyncio.ensure_future(instance.invoke(first))
    await asyncio.sleep(0)
    assert (first.model_was_loaded, first.model_seconds) == (False, None)
    load.set_result(None)
    await task
    assert first.loading_seconds is not None
    assert first.model_seconds is not None
    servers.started[0].load = None
    second = FakeInvocation()
    await instance.invoke(second)
    assert (second.model_was_loaded, second.loading_seconds) == (True, None)


def test_server_that_gets_healthy_during_stop_is_not_used(
    servers: Servers,
) -> None:
    instance = Instance("only", servers.start_server)
    instance.start()
    server: Any = servers.started[0]
    server.wait_until_healthy = lambda _: instance.stop()
    instance.wait_until_healthy(TIMEOUT_SECONDS)
    assert instance.healthy_server is None
