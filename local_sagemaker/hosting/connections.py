"""Connections to one Triton: a pool for invocations, and separate ones (lanes) for loads, unloads.

A load or an unload blocks its thread of Triton's HTTP server, and all connections of that thread:
an unload for 2 s, in which it only polls. Triton assigns a new connection to a thread that is not
blocked. So, before the first load, one connection after the other is blocked on purpose, until one
thread is left: these are the lanes, each with a thread of its own. The connections that are opened
then share the last thread, which is for invocations only.

To block a thread, a load request names a folder whose config.pbtxt is a named pipe: Triton reads it
in the thread of the request (src/sagemaker_server.cc, SageMakerMMELoadModel), and then refuses the
request, because the folder is no archive's. Releases from 26.05 on refuse it earlier; there,
invocations may wait for loads and unloads, as they do on AWS: since 25.12 an unload holds a lock
that invocations need, too.
"""

import asyncio
import json
import os
import shutil
import socket
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from httptools import HttpParserError, HttpResponseParser

CHUNK_BYTES = 256 * 1024
"""Maximum number of bytes of a response that are read at once, and buffered for a slow client."""

MAX_MODEL_RESPONSE_BYTES = 16 << 20
"""Maximum size of the response to a load or an unload. A model can influence the size."""

THREADS = 8
"""Default number of Triton's threads (--sagemaker-thread-count)."""
POOL_SIZE = 16
"""Number of connections for invocations that are opened at a time while all lanes are blocked."""
BLOCK_SECONDS, POLL_SECONDS = 60.0, 0.001
"""Maximum time until a request has blocked its thread, for a busy machine, and poll interval."""

T = TypeVar("T")


@dataclass(eq=False)
class Connection:
    """A connection for one request at a time. If `is_reserved`, its thread has no lane."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    is_reserved: bool = False

    @property
    def is_open(self) -> bool:
        """Whether the connection is still open."""
        return not self.reader.at_eof() and not self.writer.is_closing()


class Connections:
    """The connections of one event loop; only `close` is thread-safe.

    `connect` returns a new socket that is connected to the server, or raises `OSError`. `gate` is a
    folder that the server can read, for the named pipe. `threads` is the number of its threads.
    """

    def __init__(
        self, connect: Callable[[], socket.socket], gate: Path, threads: int = THREADS
    ) -> None:
        self._connect, self._gate, self._lane_count = connect, gate, threads - 1
        self._idle: list[Connection] = []  # reserved ones last
        self._lanes: list[Connection] | None = None  # idle ones; None before the first load
        self._busy_lanes: set[Connection] = set()
        self._lock, self._lane_is_free = asyncio.Lock(), asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    async def send_model_request(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str],
        body: bytes = b"",
        timeout: float,
    ) -> tuple[int, bytes]:
        """Send a load or unload request when a lane is free; return status and body.

        Raise `OSError`.
        """
        lane = await self._take_lane()
        is_reusable = False
        try:
            async with asyncio.timeout(timeout):
                status, content, is_reusable = await _exchange(lane, method, path, headers, body)
            return status, content
        finally:
            self._busy_lanes.remove(lane)
            if is_reusable and self._lanes is not None and not self._closed:
                self._lanes.append(lane)
            else:  # its thread may still be blocked
                lane.writer.close()
            self._lane_is_free.set()

    async def _take_lane(self) -> Connection:
        """Return a lane, which is busy from now on. Raise `OSError`."""
        while True:
            async with self._lock:
                if self._lanes is None:
                    self._lanes = []
                    await self._separate_lanes()
                lane = next(self._open_lanes(), None)
                if lane is None and not self._busy_lanes:
                    lane = await self._open()
                if lane:
                    self._busy_lanes.add(lane)
                    return lane
                self._lane_is_free.clear()
            await self._lane_is_free.wait()  # without the lock, which invocations may need

    def _open_lanes(self) -> Iterator[Connection]:
        """Yield the idle lanes, which are removed, except those that Triton has closed."""
        while self._lanes:
            lane = self._lanes.pop()
            if lane.is_open:
                yield lane
            else:
                lane.writer.close()

    async def take(self) -> Connection:
        """Return a connection for one invocation. Raise `OSError` if the server has ended."""
        while not self._closed:
            if not self._idle and self._lanes is not None:
                async with self._lock:
                    if not self._idle:
                        await self._fill_pool()
            connection = self._idle.pop() if self._idle else await self._open()
            if connection.is_open:
                return connection
            connection.writer.close()
        raise ConnectionError("the container has exited")

    def give_back(self, connection: Connection, *, is_reusable: bool = True) -> None:
        """Put a connection back into the pool, or close it."""
        if self._closed or not is_reusable:
            connection.writer.close()
        else:
            self._idle.insert(len(self._idle) if connection.is_reserved else 0, connection)

    def close(self) -> None:
        """Close the idle connections, and from now on each connection that is given back."""
        self._closed = True
        if self._loop:
            with suppress(RuntimeError):  # the loop is closed
                self._loop.call_soon_threadsafe(self._close_idle)

    def _close_idle(self) -> None:
        for connection in (*self._idle, *(self._lanes or [])):
            connection.writer.close()
        self._idle, self._lanes = [], []

    async def _open(self) -> Connection:
        self._loop = asyncio.get_running_loop()
        connecting = asyncio.ensure_future(in_thread(self._connect))
        try:
            connected_socket = await asyncio.shield(connecting)
        except asyncio.CancelledError:  # the thread continues: close its socket later
            connecting.add_done_callback(_close_opened)
            raise
        connected_socket.setblocking(False)
        try:
            return Connection(
                *await asyncio.open_connection(sock=connected_socket, limit=CHUNK_BYTES)
            )
        except BaseException:
            connected_socket.close()
            raise

    async def _separate_lanes(self) -> None:
        """Open the lanes, and connections for invocations. Raise `OSError`."""
        async with AsyncExitStack() as blocked:
            for number in range(self._lane_count):
                lane = await self._open()
                if not await blocked.enter_async_context(self._blocked(lane, number)):
                    self.give_back(lane)
                    break  # a release that refuses the request earlier
                self._lanes = [*(self._lanes or []), lane]
            await self._open_reserved()

    async def _fill_pool(self) -> None:
        """Open connections for invocations while all lanes are blocked. Raise `OSError`."""
        async with AsyncExitStack() as blocked:
            for number, lane in enumerate(self._lanes or []):
                await blocked.enter_async_context(self._blocked(lane, number))
            await self._open_reserved()

    async def _open_reserved(self) -> None:
        busy = set(self._busy_lanes)
        opened = [await self._open() for _ in range(POOL_SIZE)]
        for connection in opened:
            connection.is_reserved = busy <= self._busy_lanes
            self.give_back(connection)

    @asynccontextmanager
    async def _blocked(self, lane: Connection, number: int) -> AsyncIterator[bool]:
        """Block the thread of an idle lane; yield whether it is blocked. Raise `OSError`."""
        folder = self._gate / str(number)
        pipe = folder / "model" / "config.pbtxt"
        pipe.parent.mkdir(parents=True)
        (folder / "config.pbtxt").touch()
        os.mkfifo(pipe)
        request = json.dumps({"model_name": "none", "url": str(folder)}).encode()
        headers = {"Content-Type": "application/json"}
        answering = asyncio.ensure_future(_exchange(lane, "POST", "/models", headers, request))
        is_reusable = False
        try:
            descriptor = await _wait_for_reader(pipe, answering)
            try:
                yield descriptor is not None
            finally:
                # A reader that has opened the pipe, also just now, reads the end of the file.
                end = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
                pipe.unlink()
                os.close(end)
                if descriptor is not None:
                    os.close(descriptor)
            _, _, is_reusable = await answering
        finally:
            answering.cancel()
            if not is_reusable:  # it may still get the answer to this request
                lane.writer.close()
                if self._lanes and lane in self._lanes:
                    self._lanes.remove(lane)
            shutil.rmtree(folder, ignore_errors=True)


async def _wait_for_reader(pipe: Path, answering: "asyncio.Future[Any]") -> int | None:
    """Return a descriptor of a pipe for writing once it has a reader, None if it gets none."""
    deadline = asyncio.get_running_loop().time() + BLOCK_SECONDS
    while not answering.done() and asyncio.get_running_loop().time() < deadline:
        with suppress(OSError):  # ENXIO (fifo(7))
            return os.open(pipe, os.O_WRONLY | os.O_NONBLOCK)
        await asyncio.sleep(POLL_SECONDS)
    return None


async def _exchange(
    connection: Connection, method: str, path: str, headers: Mapping[str, str], body: bytes
) -> tuple[int, bytes, bool]:
    """Return status and body of a response, and whether the connection can be used again."""
    all_headers = {"Host": "localhost", **headers, "Content-Length": len(body)}
    lines = "".join(f"{name}: {value}\r\n" for name, value in all_headers.items())
    connection.writer.write(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body)
    response = ContainerResponse(connection)
    await response.read_head()
    content = await response.read_body(MAX_MODEL_RESPONSE_BYTES)
    return response.status, content, response.keeps_connection


class ContainerResponse:
    """The next response on a connection, parsed as a stream. Names in `headers` are lower-case.

    Methods raise `ConnectionError` if the container disconnects.
    """

    def __init__(self, connection: Connection) -> None:
        self._reader, self._parser = connection.reader, HttpResponseParser(self)
        self.headers: dict[bytes, bytes] = {}
        self._chunks: deque[bytes] = deque()
        self.status, self.keeps_connection = 0, False
        self._in_body = self._complete = False

    async def read_head(self) -> None:
        """Read the status and the headers."""
        for _ in range(CHUNK_BYTES):
            if self._in_body:
                return
            if await self._read() >= CHUNK_BYTES and not self._in_body:
                break
        raise ConnectionError("invalid response of the container: its header does not end")

    async def body(self) -> AsyncIterator[tuple[bytes, bool]]:
        """Yield the chunks of the body, each with whether more chunks follow."""
        has_more = True
        while has_more:
            while not self._chunks and not self._complete:
                await self._read()
            chunk = self._chunks.popleft() if self._chunks else b""
            has_more = bool(self._chunks) or not self._complete
            yield chunk, has_more

    async def read_body(self, max_bytes: int) -> bytes:
        """Return the complete body. Raise `ConnectionError` above `max_bytes` bytes."""
        body = b""
        async for chunk, _ in self.body():
            body += chunk
            if len(body) > max_bytes:
                raise ConnectionError(
                    f"the response of the container has more than {max_bytes} bytes"
                )
        return body

    async def _read(self) -> int:
        """Read once; return the number of bytes."""
        data = await self._reader.read(CHUNK_BYTES)
        if not data:
            raise ConnectionError("the container disconnected")
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            message = f"invalid response of the container: {error!r}"
            raise ConnectionError(message) from None
        return len(data)

    # HttpResponseParser calls the following methods.

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header."""
        self.headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        """Store the status; the body follows."""
        self.status = self._parser.get_status_code()
        self.keeps_connection = self._parser.should_keep_alive()
        self._in_body = True

    def on_body(self, chunk: bytes) -> None:
        """Store a chunk of the body."""
        self._chunks.append(chunk)

    def on_message_complete(self) -> None:
        """Note the end of the response."""
        self._complete = True


async def in_thread(work: Callable[[], T]) -> T:
    """Return the result of `work`, run on a daemon thread."""
    result = Future[T]()
    result.set_running_or_notify_cancel()  # prevents cancellation

    def run() -> None:
        try:
            result.set_result(work())
        except BaseException as error:
            result.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return await asyncio.wrap_future(result)


def _close_opened(connecting: "asyncio.Future[socket.socket]") -> None:
    if not connecting.cancelled() and not connecting.exception():
        connecting.result().close()
