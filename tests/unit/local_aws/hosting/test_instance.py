import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from local_aws.errors import ApiError, LocalAwsError
from local_aws.hosting import instance as instance_module
from local_aws.hosting.instance import Instance, Running
from local_aws.hosting.triton import Response
from tests.unit.local_aws.conftest import PATIENCE, eventually

JSON = {"Content-Type": "application/json"}


class FakeServer:
    """A Triton and the container around it: answers with its number as long as it lives."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.healthy = threading.Event()
        self.healthy.set()
        self.dead = threading.Event()
        self.stopped = False

    def wait_until_healthy(self, timeout: float) -> None:
        assert timeout == PATIENCE
        self.healthy.wait()
        if self.dead.is_set():
            raise LocalAwsError("The container did not pass the ping health check.")

    def wait(self) -> None:
        self.dead.wait()

    def stop(self) -> None:
        self.stopped = True
        self.dead.set()
        self.healthy.set()

    def invoke(self, _: str | None, *, body: bytes, headers: dict[str, str]) -> Response:
        assert (body, headers) == (b"question", JSON)
        if self.dead.is_set():
            raise ConnectionError("the container broke off")
        return Response(200, {}, str(self.number).encode())


class Servers:
    """Starts servers, each told what to be, and keeps them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[FakeServer] = []
        self.on_start: Callable[[FakeServer], None] = lambda _: None

    def begin(self) -> Running:
        server: Any = FakeServer(len(self.started))
        self.started.append(server)
        self.on_start(server)
        folder = self.folder / str(server.number)
        (folder / "models").mkdir(parents=True)
        (folder / "triton.log").touch()
        return Running(server, server, folder)


@pytest.fixture
def servers(tmp_path: Path) -> Servers:
    return Servers(tmp_path)


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the instance waited before each new start; it does not really wait."""
    waited: list[float] = []
    wait_for = threading.Condition.wait_for

    def recorded(self: Any, predicate: Any, timeout: float | None = None) -> Any:
        if timeout is not None and timeout < PATIENCE:
            waited.append(timeout)
            timeout = 0
        return wait_for(self, predicate, timeout)

    monkeypatch.setattr(instance_module, "INVOKE_SECONDS", PATIENCE)
    monkeypatch.setattr(threading.Condition, "wait_for", recorded)
    return waited


@pytest.fixture
def instance(servers: Servers) -> Iterator[Instance]:
    """An instance in service."""
    made = Instance("only", servers.begin)
    made.start()
    made.wait_until_healthy(PATIENCE)
    yield made
    made.stop()


def ask(instance: Instance) -> bytes:
    return instance.invoke(None, body=b"question", headers=JSON).body


def test_a_server_that_dies_is_replaced_without_anybody_asking(
    instance: Instance, servers: Servers, tmp_path: Path
) -> None:
    assert ask(instance) == b"0"
    servers.started[0].dead.set()
    eventually(lambda: len(servers.started) == 2)
    assert ask(instance) == b"1"
    assert servers.started[0].stopped
    assert not (tmp_path / "0" / "models").exists()
    assert (tmp_path / "0" / "triton.log").exists()


def test_a_call_waits_for_the_server_that_starts(instance: Instance, servers: Servers) -> None:
    servers.on_start = lambda server: server.healthy.clear()
    servers.started[0].dead.set()
    eventually(lambda: len(servers.started) == 2)
    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(ask, instance)
        eventually(lambda: getattr(instance._changed, "_waiters"))  # noqa: B009 - typeshed lacks it
        servers.started[1].healthy.set()
        assert answer.result() == b"1"


def test_without_a_healthy_server_the_service_is_unavailable(
    instance: Instance, servers: Servers, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers.on_start = lambda server: server.healthy.clear()
    servers.started[0].dead.set()
    eventually(lambda: len(servers.started) == 2)
    monkeypatch.setattr(instance_module, "INVOKE_SECONDS", 0.01)
    with pytest.raises(ApiError, match="Variant only has no healthy instance") as refused:
        ask(instance)
    assert (refused.value.code, refused.value.status) == ("ServiceUnavailable", 503)


def test_a_container_that_dies_at_every_start_is_started_more_and_more_seldom(
    instance: Instance, servers: Servers, pauses: list[float]
) -> None:
    servers.on_start = lambda server: server.dead.set() if server.number < 12 else None
    servers.started[0].dead.set()
    eventually(lambda: len(servers.started) == 13)
    assert ask(instance) == b"12"
    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 60.0, 60.0]
    assert all(it.stopped for it in servers.started[:12])


def test_a_container_that_ran_steadily_is_started_soon_again(
    instance: Instance, servers: Servers, pauses: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    servers.on_start = lambda server: server.dead.set() if server.number < 3 else None
    servers.started[0].dead.set()
    eventually(lambda: len(servers.started) == 4)
    assert ask(instance) == b"3"
    monkeypatch.setattr(instance_module, "STEADY_SECONDS", 0)
    servers.started[3].dead.set()
    eventually(lambda: len(servers.started) == 5)
    assert pauses == [0.1, 0.2, 0.4, 0.1]


def test_a_start_that_fails_altogether_is_tried_again(instance: Instance, servers: Servers) -> None:
    def no_archive(server: FakeServer) -> None:
        if server.number == 1:
            raise LocalAwsError("Failed to download model data")

    servers.on_start = no_archive
    servers.started[0].dead.set()
    eventually(lambda: len(servers.started) == 3)
    assert ask(instance) == b"2"


def test_a_first_server_that_is_not_healthy_is_not_replaced(servers: Servers) -> None:
    servers.on_start = lambda server: server.dead.set()
    instance = Instance("only", servers.begin)
    instance.start()
    with pytest.raises(LocalAwsError, match="did not pass the ping health check"):
        instance.wait_until_healthy(PATIENCE)
    instance.stop()
    assert [it.stopped for it in servers.started] == [True]


def test_a_stopped_instance_starts_no_more(
    instance: Instance, servers: Servers, pauses: list[float]
) -> None:
    instance.stop()
    eventually(lambda: pauses)
    assert [it.stopped for it in servers.started] == [True]
    with pytest.raises(ApiError, match="no healthy instance"):
        ask(instance)
    with pytest.raises(LocalAwsError, match="the instances were stopped while they started"):
        instance.start()
    assert servers.started[1].stopped
