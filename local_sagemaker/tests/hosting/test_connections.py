import asyncio
import socket
import threading
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from local_sagemaker.hosting.connections import PING, Connection, Connections, in_thread
from local_sagemaker.tests.support.waiting import TIMEOUT_SECONDS

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Server:
    """A server of connections; `clients` and `servers` are their two ends, in the same order.

    `late_answers` is how often another connection is pinged before an answer: time does not count,
    because a busy machine answers late.
    """

    def __init__(self) -> None:
        self.clients: list[socket.socket] = []
        self.servers: list[socket.socket] = []
        self.ended = False
        self.late_answers = 0

    def connect(self) -> socket.socket:
        if self.ended:
            raise ConnectionError("the container has exited")
        client, server = socket.socketpair()
        server.setblocking(False)
        self.clients.append(client)
        self.servers.append(server)
        return client

    async def request(self, number: int) -> bytes:
        """Wait for a connection and return the first bytes received on it."""
        while len(self.servers) <= number:
            await asyncio.sleep(0)
        return await asyncio.get_running_loop().sock_recv(self.servers[number], 1 << 16)

    async def answer(self, number: int, answer: bytes = OK) -> bytes:
        request = await self.request(number)
        self.servers[number].sendall(answer)
        return request

    @property
    def open_states(self) -> list[bool]:
        """Whether each connection is still open."""
        return [client.fileno() != -1 for client in self.clients]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    server, wait_for_time = Server(), asyncio.wait

    async def wait(pings: Iterable[Any], *, timeout: float, return_when: str) -> Any:
        is_late = server.late_answers > 0
        server.late_answers -= is_late
        return await wait_for_time(pings, timeout=0 if is_late else None, return_when=return_when)

    monkeypatch.setattr(asyncio, "wait", wait)
    yield server
    for end in (*server.clients, *server.servers):
        end.close()


@pytest.fixture
def connections(server: Server) -> Connections:
    return Connections(server.connect)


def load(
    connections: Connections, timeout: float = TIMEOUT_SECONDS
) -> "asyncio.Task[tuple[int, bytes]]":
    """Start a task that loads a model."""
    headers = {"A": "b"}
    request = connections.send_model_request(
        "POST", "/models", headers=headers, body=b"x", timeout=timeout
    )
    return asyncio.create_task(request)


# Lanes: connections for loads


async def test_consecutive_loads_share_a_lane(connections: Connections, server: Server) -> None:
    for _ in range(3):
        loading = load(connections)
        request = await server.answer(0)
        assert await loading == (200, b"{}")
    assert (
        request == b"POST /models HTTP/1.1\r\nHost: localhost\r\nA: b\r\nContent-Length: 1\r\n\r\nx"
    )
    connections._close_idle()


async def test_concurrent_loads_have_separate_lanes(
    connections: Connections, server: Server
) -> None:
    server.late_answers = 1
    loads = [load(connections) for _ in range(3)]
    await server.request(0)
    assert await server.request(1) == PING  # no answer: the thread of the first lane is busy
    for number in (2, 3):
        assert await server.answer(number) == PING
        assert b"POST" in await server.request(number)
    for number in (0, 2, 3):
        server.servers[number].sendall(OK)
    assert await asyncio.gather(*loads) == [(200, b"{}")] * 3
    # The lanes are on different threads, so that they can be used at the same time again.
    again = [load(connections) for _ in range(3)]
    for number in (0, 2, 3):
        await server.answer(number)
    await asyncio.gather(*again)
    assert len(server.clients) == 4
    connections._close_idle()


@pytest.mark.parametrize("answer", [b"", b"what?\r\n\r\n", OK[:-1]])
async def test_broken_lane_is_closed_and_replaced(
    connections: Connections, server: Server, answer: bytes
) -> None:
    loading = load(connections)
    await server.answer(0, answer)
    server.servers[0].close()
    with pytest.raises(ConnectionError):
        await loading
    again = load(connections)
    await server.answer(1)
    assert await again == (200, b"{}")
    assert server.open_states == [False, True]
    connections._close_idle()


async def test_late_response_is_discarded(connections: Connections, server: Server) -> None:
    with pytest.raises(TimeoutError):
        await load(connections, timeout=1)
    again = load(connections)
    await server.answer(1)
    assert await again == (200, b"{}")
    connections._close_idle()


async def test_lane_closed_by_the_server_is_not_reused(
    connections: Connections, server: Server
) -> None:
    loading = load(connections)
    await server.answer(0, OK.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    await loading
    assert server.open_states == [False]


async def test_connecting_without_a_server_fails(connections: Connections, server: Server) -> None:
    server.ended = True
    with pytest.raises(ConnectionError):
        await load(connections)
    with pytest.raises(ConnectionError):
        await connections.take()


# Connections for invocations


async def test_connection_behind_a_busy_lane_is_not_used(
    connections: Connections, server: Server
) -> None:
    server.late_answers = 1
    loading = load(connections)
    await server.request(0)
    taking = asyncio.create_task(connections.take())
    assert await server.request(1) == PING  # no answer: the thread of the lane is busy
    assert await server.answer(2) == PING
    during = await taking
    connections.give_back(during)
    assert await connections.take() is during
    server.servers[0].sendall(OK)
    await loading
    server.servers[1].sendall(OK)  # the thread is free again
    await asyncio.gather(*connections._pings)
    after = await connections.take()
    assert len(server.clients) == 3
    during.writer.close()
    after.writer.close()
    connections._close_idle()


async def test_slow_answer_to_a_ping_is_used(connections: Connections, server: Server) -> None:
    """On a busy machine, no connection answers within `PING_SECONDS`."""
    server.late_answers = 2
    loading = load(connections)
    await server.request(0)
    taking = asyncio.create_task(connections.take())
    for number in (1, 2, 3):
        assert await server.request(number) == PING
    server.servers[1].sendall(OK)
    connection = await taking
    assert connection.avoided_lanes
    server.servers[0].sendall(OK)
    await loading
    connection.writer.close()
    connections._close_idle()


async def test_connection_is_probed_again_for_another_load(
    connections: Connections, server: Server
) -> None:
    first = load(connections)
    await server.request(0)
    taking = asyncio.create_task(connections.take())
    await server.answer(1)
    connections.give_back(await taking)
    second = load(connections)
    assert b"POST" in await server.request(1)  # it avoids the first lane, and becomes the second
    taking = asyncio.create_task(connections.take())
    assert await server.answer(2) == PING
    connection = await taking
    assert len(connection.avoided_lanes) == 2
    for number in (0, 1):
        server.servers[number].sendall(OK)
    await asyncio.gather(first, second)
    connection.writer.close()
    connections._close_idle()


async def test_connection_closed_by_the_server_is_not_reused(
    connections: Connections, server: Server
) -> None:
    first = await connections.take()
    connections.give_back(first)
    server.servers[0].close()
    assert await first.reader.read() == b""
    second = await connections.take()
    assert second is not first
    assert first.writer.is_closing()
    second.writer.close()


async def test_connection_for_a_cancelled_request_is_closed(server: Server) -> None:
    is_called, may_connect = threading.Event(), threading.Event()

    def connect() -> socket.socket:
        is_called.set()
        may_connect.wait()
        return server.connect()

    taking = asyncio.create_task(Connections(connect).take())
    await in_thread(is_called.wait)
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    may_connect.set()
    while server.open_states != [False]:
        await asyncio.sleep(0)


async def test_connection_threads_are_daemons() -> None:
    assert await in_thread(lambda: threading.current_thread().daemon)


# Closing


async def close_on_a_thread(connections: Connections, idle: Connection) -> None:
    closing = threading.Thread(target=connections.close)
    closing.start()
    closing.join()
    assert not idle.writer.is_closing()  # only the event loop may close the writer
    await idle.writer.wait_closed()


async def test_close_closes_idle_connections_from_any_thread(
    connections: Connections, server: Server
) -> None:
    idle, in_use = await connections.take(), await connections.take()
    connections.give_back(idle)
    loading = load(connections)
    await server.answer(2)  # the lane is the third connection
    await loading
    await close_on_a_thread(connections, idle)
    assert not in_use.writer.is_closing()
    connections.give_back(in_use)
    assert in_use.writer.is_closing()
    await asyncio.sleep(0)
    assert server.open_states[2] is False
