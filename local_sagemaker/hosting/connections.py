"""Connections to one Triton: a pool for invocations, and separate connections (lanes) for loads.

Triton's HTTP server assigns each connection to one of its threads. A load blocks its thread, and
all connections of that thread: during a load of 6 s, 14 of 15 idle connections got no response to
/ping (measured on 2.51). Therefore loads have their own connections, the lanes. While lanes are
busy, an invocation uses a connection that answered a ping sent after the load requests: such a
connection does not share a thread with a load.
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

PART = 256 * 1024
"""Maximum number of bytes of a response that are read at once and buffered for a slow client."""

MANAGED_BYTES = 16 << 20
"""Maximum size of the response to a load or an unload, which a model could produce."""

PING = b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n"
FIRST_TRY_SECONDS = 0.05
"""Timeout of the first ping; each retry, on another connection, has a longer timeout."""

T = TypeVar("T")


@dataclass(eq=False)
class Connection:
    """A connection for one request at a time, on another thread than the lanes in `avoids`."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    avoids: "frozenset[Connection]" = frozenset()

    @property
    def usable(self) -> bool:
        """Whether the connection is still open."""
        return not self.reader.at_eof() and not self.writer.is_closing()


class Connections:
    """The connections of one event loop; only `close` is thread-safe.

    `connect` returns a new socket that is connected to the server, or raises `OSError`.
    """

    def __init__(self, connect: Callable[[], socket.socket]) -> None:
        self._connect = connect
        self._idle: list[Connection] = []
        self._lanes: list[Connection] = []  # the idle ones
        self._busy: set[Connection] = set()  # lanes with a request in progress
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    async def manage(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str],
        body: bytes = b"",
        timeout: float,
    ) -> tuple[int, bytes]:
        """Send a load or unload request; return status and body. Raise `OSError`."""
        lane = self._lanes.pop() if self._lanes else await self._open()
        all_headers = {"Host": "localhost", **headers, "Content-Length": len(body)}
        lines = "".join(f"{name}: {value}\r\n" for name, value in all_headers.items())
        self._busy.add(lane)
        kept = False
        try:
            async with asyncio.timeout(timeout):
                lane.writer.write(f"{method} {path} HTTP/1.1\r\n{lines}\r\n".encode() + body)
                answer = ContainerResponse(lane)
                await answer.read_head()
                content = await answer.rest(MANAGED_BYTES)
            kept = answer.keeps_connection and not self._closed
            return answer.status, content
        finally:
            self._busy.remove(lane)
            if kept:
                self._lanes.append(lane)
            else:
                lane.writer.close()

    async def take(self) -> Connection:
        """Return a connection for one invocation. Raise `OSError` if the server has ended."""
        for position in range(len(self._idle) - 1, -1, -1):
            if self._busy <= self._idle[position].avoids:
                connection = self._idle.pop(position)
                if connection.usable:
                    return connection
                connection.writer.close()
        return await (self._proven() if self._busy else self._open())

    def give_back(self, connection: Connection) -> None:
        """Return a connection to the pool; connections that avoid lanes are reused first."""
        if self._closed:
            connection.writer.close()
        else:
            self._idle.insert(len(self._idle) if connection.avoids else 0, connection)

    def close(self) -> None:
        """Close the idle connections, and keep no others from now on."""
        self._closed = True
        if self._loop and not self._loop.is_closed():
            self._loop.call_soon_threadsafe(self._close_idle)

    def _close_idle(self) -> None:
        for connection in (*self._idle, *self._lanes):
            connection.writer.close()
        self._idle, self._lanes = [], []

    async def _open(self) -> Connection:
        self._loop = asyncio.get_running_loop()
        connecting = asyncio.ensure_future(in_thread(self._connect))
        try:
            opened = await asyncio.shield(connecting)
        except asyncio.CancelledError:  # the thread continues: close its socket later
            connecting.add_done_callback(_close_opened)
            raise
        opened.setblocking(False)
        try:
            return Connection(*await asyncio.open_connection(sock=opened, limit=PART))
        except BaseException:
            opened.close()
            raise

    async def _proven(self) -> Connection:
        """Return a new connection that answered a ping while lanes were busy."""
        patience = FIRST_TRY_SECONDS
        while self._busy:
            connection = await self._open()
            connection.avoids = frozenset(self._busy)
            answer = ContainerResponse(connection)
            try:
                async with asyncio.timeout(patience):
                    connection.writer.write(PING)
                    await answer.read_head()
                    await answer.rest(PART)
            except TimeoutError:
                connection.writer.close()
                patience *= 1.5
            except BaseException:
                connection.writer.close()
                raise
            else:
                return connection
        return await self.take()


class ContainerResponse:
    """The next response on a connection, parsed as a stream; names of `headers` are lower-case.

    Methods raise `ConnectionError` if the container disconnects.
    """

    def __init__(self, connection: Connection) -> None:
        self._reader, self._parser = connection.reader, HttpResponseParser(self)
        self.headers: dict[bytes, bytes] = {}
        self._parts: deque[bytes] = deque()
        self.status, self.keeps_connection = 0, False
        self._in_body = self._complete = False

    async def read_head(self) -> None:
        """Read the status and the headers."""
        for _ in range(PART):
            if self._in_body:
                return
            if await self._read() >= PART and not self._in_body:
                break
        raise ConnectionError("invalid response of the container: its header does not end")

    async def body(self) -> AsyncIterator[tuple[bytes, bool]]:
        """Yield the parts of the body, each with whether more follow."""
        more = True
        while more:
            while not self._parts and not self._complete:
                await self._read()
            part = self._parts.popleft() if self._parts else b""
            more = bool(self._parts) or not self._complete
            yield part, more

    async def rest(self, most: int) -> bytes:
        """Return the complete body. Raise `ConnectionError` above `most` bytes."""
        body = b""
        async for part, _ in self.body():
            body += part
            if len(body) > most:
                raise ConnectionError(f"the response of the container has more than {most} bytes")
        return body

    async def _read(self) -> int:
        """Read once; return the number of bytes."""
        data = await self._reader.read(PART)
        if not data:
            raise ConnectionError("the container disconnected")
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            message = f"invalid answer of the container: {error!r}"
            raise ConnectionError(message) from None
        return len(data)

    # Called by the parser

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header."""
        self.headers[name.lower()] = value

    def on_headers_complete(self) -> None:
        """Store the status; the body begins."""
        self.status = self._parser.get_status_code()
        self.keeps_connection = self._parser.should_keep_alive()
        self._in_body = True

    def on_body(self, part: bytes) -> None:
        """Store a part of the body."""
        self._parts.append(part)

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
