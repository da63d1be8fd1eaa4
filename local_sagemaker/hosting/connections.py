"""Connections to one Triton: a pool for invocations, and separate ones (lanes) for loads, unloads.

Triton's HTTP server assigns each connection to one of its threads. A load or an unload blocks its
thread, and all connections of that thread: during a load of 6 s, 14 of 15 idle connections got no
response to /ping (measured on 2.51). Therefore loads and unloads have their own connections, the
lanes. While lanes are busy, an invocation, and another load or unload, uses a connection that
answered a ping sent after their requests: such a connection does not share a thread with them.
"""

import asyncio
import socket
import threading
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import TypeVar

from httptools import HttpParserError, HttpResponseParser

CHUNK_BYTES = 256 * 1024
"""Maximum number of bytes of a response that are read at once, and buffered for a slow client."""

MAX_MODEL_RESPONSE_BYTES = 16 << 20
"""Maximum size of the response to a load or an unload. A model can influence the size."""

PING = b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n"
MAX_IDLE_LANES = 8
"""Number of Triton's threads."""
PING_SECONDS = 0.05
"""Time after which another connection is pinged too; any that answers can be used."""
MAX_PINGS = 16
"""Maximum number of pings without an answer."""

T = TypeVar("T")


@dataclass(eq=False)
class Connection:
    """A connection for one request at a time.

    It does not share a server thread with the lanes in `avoided_lanes`.
    """

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    avoided_lanes: "frozenset[Connection]" = frozenset()

    @property
    def is_open(self) -> bool:
        """Whether the connection is still open."""
        return not self.reader.at_eof() and not self.writer.is_closing()


class Connections:
    """The connections of one event loop; only `close` is thread-safe.

    `connect` returns a new socket that is connected to the server, or raises `OSError`.
    """

    def __init__(self, connect: Callable[[], socket.socket]) -> None:
        self._connect = connect
        self._idle: list[Connection] = []
        self._idle_lanes: list[Connection] = []
        self._busy_lanes: set[Connection] = set()
        self._taking_lane = asyncio.Lock()
        self._pings: set[asyncio.Task[OSError | None]] = set()
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
        """Send a load or unload request; return status and body. Raise `OSError`."""
        all_headers = {"Host": "localhost", **headers, "Content-Length": len(body)}
        lines = "".join(f"{name}: {value}\r\n" for name, value in all_headers.items())
        async with self._taking_lane:  # the next lane avoids the thread of this request
            lane = await self._take_lane()
            self._busy_lanes.add(lane)
            lane.writer.write(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body)
        is_reusable = False
        try:
            async with asyncio.timeout(timeout):
                response = ContainerResponse(lane)
                await response.read_head()
                content = await response.read_body(MAX_MODEL_RESPONSE_BYTES)
            is_reusable = response.keeps_connection and not self._closed
            return response.status, content
        finally:
            self._busy_lanes.remove(lane)
            if is_reusable and len(self._idle_lanes) < MAX_IDLE_LANES:
                self._idle_lanes.append(lane)
            else:
                lane.writer.close()

    async def _take_lane(self) -> Connection:
        """Return a lane that shares no thread with a busy one. Raise `OSError`."""
        for lane in reversed(self._idle_lanes):
            if all(
                busy in lane.avoided_lanes or lane in busy.avoided_lanes
                for busy in self._busy_lanes
            ):
                self._idle_lanes.remove(lane)
                return lane
        return await (self.take() if self._busy_lanes else self._open())

    async def take(self) -> Connection:
        """Return a connection for one invocation. Raise `OSError` if the server has ended.

        While lanes are busy, connections are pinged, one after the other, until one avoids them.
        """
        while not self._closed:
            for position in range(len(self._idle) - 1, -1, -1):
                if self._busy_lanes <= self._idle[position].avoided_lanes:
                    connection = self._idle.pop(position)
                    if connection.is_open:
                        return connection
                    connection.writer.close()
            if not self._busy_lanes:
                return await self._open()
            if len(self._pings) < MAX_PINGS:
                ping = asyncio.create_task(self._ping())
                self._pings.add(ping)
                ping.add_done_callback(self._pings.discard)
            answered, _ = await asyncio.wait(
                self._pings, timeout=PING_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            for ping in answered:
                if error := ping.result():
                    raise error
        raise ConnectionError("the container has exited")

    def give_back(self, connection: Connection) -> None:
        """Put a connection back into the pool; connections that avoid lanes are reused first."""
        if self._closed:
            connection.writer.close()
        else:
            self._idle.insert(len(self._idle) if connection.avoided_lanes else 0, connection)

    def close(self) -> None:
        """Close the idle connections, and from now on each connection that is given back."""
        self._closed = True
        if self._loop and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._close_idle)

    def _close_idle(self) -> None:
        for ping in self._pings:
            ping.cancel()
        for connection in (*self._idle, *self._idle_lanes):
            connection.writer.close()
        self._idle, self._idle_lanes = [], []

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

    async def _ping(self) -> OSError | None:
        """Ping an idle or a new connection, and give it back; return the error of a new one.

        An answer shows that the connection avoids the lanes that were busy before.
        """
        idle = self._idle.pop() if self._idle else None
        try:
            connection = idle or await self._open()
        except OSError as error:
            return error
        lanes = frozenset(self._busy_lanes)
        response = ContainerResponse(connection)
        try:
            connection.writer.write(PING)
            await response.read_head()
            await response.read_body(CHUNK_BYTES)
        except OSError as error:
            connection.writer.close()
            return None if idle else error
        except BaseException:
            connection.writer.close()
            raise
        open_lanes = {*self._idle_lanes, *self._busy_lanes}
        connection.avoided_lanes = lanes | (connection.avoided_lanes & open_lanes)
        self.give_back(connection)
        return None


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
