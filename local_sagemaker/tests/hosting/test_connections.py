import asyncio
import json
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from local_sagemaker.hosting.connections import POOL_SIZE, Connection, Connections, in_thread
from local_sagemaker.tests.support.waiting import TIMEOUT_SECONDS

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"
LENGTH = re.compile(rb"Content-Length: (\d+)")
THREADS = 4


class Server:
    """A server with threads, as Triton's: a new connection gets one that is not blocked.

    `threads` are the threads of the connections in the order of connecting. A load of a folder with
    a named pipe blocks its thread until the pipe is read; another request for models is answered
    with `answer` after `may_answer`. If `refuses`, no load blocks.
    """

    def __init__(self) -> None:
        self.loads: list[bytes] = []
        self.threads: list[int] = []
        self.ended = self.refuses = False
        self.answer, self.may_answer = OK, threading.Event()
        self.may_answer.set()
        self._locks = [threading.Lock() for _ in range(THREADS)]
        self.clients: list[socket.socket] = []

    def connect(self) -> socket.socket:
        if self.ended:
            raise ConnectionError("the container has exited")
        thread = next(n for n, lock in enumerate(self._locks) if not lock.locked())
        self.threads.append(thread)
        client, server = socket.socketpair()
        self.clients.append(client)
        threading.Thread(target=self._serve, args=(server, thread), daemon=True).start()
        return client

    def _serve(self, server: socket.socket, thread: int) -> None:
        with suppress(OSError), server:
            while request := server.recv(1 << 16):
                match = LENGTH.search(request)
                assert match
                body = request[len(request) - int(match[1]) :]
                with self._locks[thread]:
                    server.sendall(self._answer(request, body))

    def _answer(self, request: bytes, body: bytes) -> bytes:
        url = Path(json.loads(body)["url"]) if body.startswith(b"{") else Path("/nonexistent")
        pipe = url / "model" / "config.pbtxt"
        if pipe.exists():
            if not self.refuses:
                pipe.read_bytes()
            return b"HTTP/1.1 400 No\r\nContent-Length: 0\r\n\r\n"
        self.loads.append(request)
        self.may_answer.wait()
        return self.answer


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.may_answer.set()
    for client in server.clients:
        client.close()


@pytest.fixture
def connections(server: Server, tmp_path: Path) -> Connections:
    return Connections(server.connect, tmp_path / "gate", THREADS)


def load(
    connections: Connections, timeout: float = TIMEOUT_SECONDS
) -> "asyncio.Task[tuple[int, bytes]]":
    """Start a task that loads a model."""
    request = connections.send_model_request(
        "POST", "/models", headers={"A": "b"}, body=b"x", timeout=timeout
    )
    return asyncio.create_task(request)


def close(connections: Connections, *taken: Connection) -> None:
    """Close all connections: uvloop does not end with open ones."""
    connections._close_idle()
    for connection in taken:
        connection.writer.close()


async def wait_for_loads(server: Server, count: int) -> None:
    while len(server.loads) < count:
        await asyncio.sleep(0.001)


async def test_loads_and_invocations_have_separate_threads(
    connections: Connections, server: Server, tmp_path: Path
) -> None:
    server.may_answer.clear()
    loads = [load(connections) for _ in range(THREADS)]
    await wait_for_loads(server, THREADS - 1)
    assert server.threads == [0, 1, 2, *[THREADS - 1] * POOL_SIZE]
    taken = [await connections.take() for _ in range(POOL_SIZE)]
    assert all(connection.is_reserved for connection in taken)
    assert len(server.loads) == THREADS - 1  # the last one waits for a lane
    server.may_answer.set()
    assert await asyncio.gather(*loads) == [(200, b"{}")] * THREADS
    more = await connections.take()  # opened while all lanes are blocked
    assert set(server.threads[THREADS - 1 :]) == {THREADS - 1}
    for connection in (*taken, more):
        connections.give_back(connection)
    assert not list((tmp_path / "gate").iterdir())
    assert server.loads[0].startswith(b"POST /models HTTP/1.1\r\nHost: localhost\r\nA: b\r\n")
    close(connections)


async def test_server_that_refuses_the_named_pipe_is_used_without_lanes(
    connections: Connections, server: Server
) -> None:
    server.refuses = True
    loads = [load(connections) for _ in range(2)]
    assert await asyncio.gather(*loads) == [(200, b"{}")] * 2
    close(connections, await connections.take())


@pytest.mark.parametrize("answer", [b"what?\r\n\r\n", OK.replace(b"2", b"x")])
async def test_broken_lane_is_not_used_again(
    connections: Connections, server: Server, answer: bytes
) -> None:
    server.answer = answer
    with pytest.raises(ConnectionError):
        await load(connections)
    server.answer = OK
    assert await load(connections) == (200, b"{}")
    assert len(connections._lanes or []) == THREADS - 2
    close(connections)


async def test_late_response_is_discarded(connections: Connections, server: Server) -> None:
    await load(connections)
    server.may_answer.clear()
    with pytest.raises(TimeoutError):
        await load(connections, timeout=0.01)
    server.may_answer.set()
    assert await load(connections) == (200, b"{}")
    close(connections)


async def test_connecting_without_a_server_fails(connections: Connections, server: Server) -> None:
    server.ended = True
    with pytest.raises(ConnectionError):
        await load(connections)
    with pytest.raises(ConnectionError):
        await connections.take()


async def test_connection_closed_by_the_server_is_not_reused(
    connections: Connections, server: Server
) -> None:
    connection = await connections.take()
    connections.give_back(connection)
    connection.reader.feed_eof()
    other = await connections.take()
    assert other is not connection
    connections.give_back(other, is_reusable=False)
    third = await connections.take()
    assert third is not other
    close(connections, third)


async def test_connection_for_a_cancelled_request_is_closed(server: Server, tmp_path: Path) -> None:
    is_called, may_connect = threading.Event(), threading.Event()

    def connect() -> socket.socket:
        is_called.set()
        may_connect.wait()
        return server.connect()

    taking = asyncio.create_task(Connections(connect, tmp_path).take())
    await in_thread(is_called.wait)
    taking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await taking
    may_connect.set()
    while not server.clients or server.clients[0].fileno() != -1:
        await asyncio.sleep(0.001)


async def test_connection_threads_are_daemons() -> None:
    """A connection attempt that hangs must not keep the process alive."""
    assert await in_thread(lambda: threading.current_thread().daemon)
    with pytest.raises(ZeroDivisionError):
        await in_thread(lambda: 1 // 0)


async def test_close_closes_idle_connections_from_any_thread(
    connections: Connections, server: Server
) -> None:
    await load(connections)
    idle, in_use = await connections.take(), await connections.take()
    connections.give_back(idle)
    closing = threading.Thread(target=connections.close)
    closing.start()
    closing.join()
    assert not idle.writer.is_closing()  # only the event loop may close the writer
    await idle.writer.wait_closed()
    assert not in_use.writer.is_closing()
    connections.give_back(in_use)
    assert in_use.writer.is_closing()
    with pytest.raises(ConnectionError, match="has exited"):
        await connections.take()
