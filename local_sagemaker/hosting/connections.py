"""Connections to one Triton: kept ones for invocations, and lanes for loads.

A connection stays with one of the threads of Triton's HTTP server. A load holds its thread until it
ends, and all connections of that thread with it: with one load of 6 s under way, 14 of 15 idle
connections got no answer to /ping (measured on 2.51). So loads go over lanes, connections of their
own that are kept; and while lanes are busy, an invocation takes a connection that has answered a
ping which was sent after their requests: a thread does one after the other, so it is not theirs.
"""

import asyncio
import http.client
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

PART = 256 * 1024
"""Bytes of an answer that are read at once, and may wait for a slow client."""

PING = b"GET /ping HTTP/1.1\r\nHost: localhost\r\n\r\n"
NEXT_TRY_SECONDS = 0.05
"""After how long another connection is tried beside those whose ping has no answer yet."""

Lane = http.client.HTTPConnection


@dataclass(frozen=True)
class Connection:
    """A connection for one invocation at a time; no lane in `avoids` shares its thread."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    avoids: frozenset[Lane]

    @property
    def usable(self) -> bool:
        """Whether the server has not closed it."""
        return not self.reader.at_eof() and not self.writer.is_closing()


class Connections:
    """`connect` returns a new socket that is connected to the server, or raises `OSError`.

    Lanes may be asked for by any thread; connections for invocations belong to one event loop.
    """

    def __init__(self, connect: Callable[[], socket.socket]) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._lanes: list[Lane] = []  # the idle ones
        self._busy: dict[Lane, bool] = {}  # whether their requests were sent; replaced, not changed
        self._idle: list[Connection] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    @contextmanager
    def lane(self) -> Iterator[Lane]:
        """Give a connection that no invocation waits behind; it is kept if the block ends well.

        Who has sent a request over it says so with `sent`.
        """
        with self._lock:
            lane = self._lanes.pop() if self._lanes else None
        if lane is None or not lane.sock:  # the server has closed it
            lane = http_connection(self._connect())
        with self._lock:
            self._busy = {**self._busy, lane: False}
        try:
            yield lane
        except BaseException:
            lane.close()
            raise
        else:
            with self._lock:
                if self._closed:
                    lane.close()
                else:
                    self._lanes.append(lane)
        finally:
            with self._lock:
                self._busy = {it: sent for it, sent in self._busy.items() if it is not lane}

    def sent(self, lane: Lane) -> None:
        """Take note that a lane's request is on its way."""
        with self._lock:
            self._busy = {**self._busy, lane: True}

    async def take(self) -> Connection:
        """Return a connection for one invocation. Raises `OSError` or `EOFError` without a server.

        While a lane is about to send its request there is nothing to prove: it is tried again.
        """
        self._loop = asyncio.get_running_loop()
        while (connection := self._fitting()) is None:
            if not self._busy:
                return await self._open()
            self._idle.append(await self._proven())
        return connection

    def _fitting(self) -> Connection | None:
        busy = self._busy.keys()
        for position in range(len(self._idle) - 1, -1, -1):
            if busy <= self._idle[position].avoids:
                connection = self._idle.pop(position)
                if connection.usable:
                    return connection
                connection.writer.close()
        return None

    async def _open(self) -> Connection:
        connecting = asyncio.ensure_future(asyncio.to_thread(self._connect))
        try:
            opened = await asyncio.shield(connecting)
        except asyncio.CancelledError:  # the thread goes on, and nobody waits for its socket
            connecting.add_done_callback(_close_opened)
            raise
        opened.setblocking(False)
        try:
            return Connection(*await asyncio.open_connection(sock=opened, limit=PART), frozenset())
        except BaseException:
            opened.close()
            raise

    async def _proven(self) -> Connection:
        """Return a connection that has answered while lanes were busy."""
        tries = set[asyncio.Task[Connection]]()
        try:
            while True:
                tries.add(asyncio.create_task(self._answering()))
                done, _ = await asyncio.wait(
                    tries, timeout=NEXT_TRY_SECONDS, return_when=asyncio.FIRST_COMPLETED
                )
                if done:
                    first = done.pop()
                    tries.remove(first)
                    return first.result()
        finally:
            for it in tries:
                it.cancel()
            for other in await asyncio.gather(*tries, return_exceptions=True):
                if isinstance(other, Connection):
                    self.give_back(other)

    async def _answering(self) -> Connection:
        """Return a connection that has answered a ping, for as long as that takes."""
        connection = await self._open()
        try:
            avoided = frozenset(lane for lane, sent in self._busy.items() if sent)
            connection.writer.write(PING)
            head = await connection.reader.readuntil(b"\r\n\r\n")
            size = re.search(rb"(?i)\ncontent-length: *(\d+)", head)
            await connection.reader.readexactly(int(size[1]) if size else 0)
        except BaseException:
            connection.writer.close()
            raise
        return Connection(connection.reader, connection.writer, avoided)

    def give_back(self, connection: Connection) -> None:
        """Keep a connection whose answer was read whole; those that avoid lanes are taken first."""
        if self._closed:
            connection.writer.close()
        else:
            self._idle.insert(len(self._idle) if connection.avoids else 0, connection)

    def close(self) -> None:
        """Close what is kept, and keep no more."""
        with self._lock:
            self._closed = True
            lanes, self._lanes = self._lanes, []
        for lane in lanes:
            lane.close()
        if self._loop:
            with suppress(RuntimeError):  # it has ended, and closed them
                self._loop.call_soon_threadsafe(self._close_idle)

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().writer.close()


def _close_opened(connecting: "asyncio.Future[socket.socket]") -> None:
    if not connecting.cancelled() and not connecting.exception():
        connecting.result().close()


def http_connection(connected: socket.socket) -> Lane:
    """Return an HTTP connection over a socket that is connected already."""
    connection = http.client.HTTPConnection("localhost")
    connection.sock = connected
    return connection
