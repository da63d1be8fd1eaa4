"""Connections to one Triton: kept ones for invocations, and lanes for loads.

Triton's HTTP server gives a new connection to a thread that waits, and it stays with that thread.
A load holds its thread until it ends, and all connections of that thread with it: with one load of
6 s under way, 14 of 15 idle connections got no answer to /ping, and 16 of 16 new ones did (measured
on 2.51). So loads go over lanes, connections of their own that are kept; and an invocation takes a
connection that was made while the busy lanes were busy, which cannot share a thread with them.
"""

import asyncio
import http.client
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

PART = 256 * 1024
"""Bytes of an answer that are read at once, and may wait for a slow client."""

SPARE = 4
"""Connections to make while a lane is busy, for invocations under way when it is busy again."""


@dataclass(frozen=True)
class Connection:
    """A connection for one invocation at a time; no lane in `avoids` shares its thread."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    avoids: frozenset[int]

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
        self._lanes: dict[int, http.client.HTTPConnection] = {}  # the idle ones
        self._busy: frozenset[int] = frozenset()
        self._made: list[tuple[socket.socket, frozenset[int]]] = []  # no invocation had them yet
        self._idle: list[Connection] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closed = False

    @contextmanager
    def lane(self) -> Iterator[http.client.HTTPConnection]:
        """Give a connection that no invocation waits behind; it is kept if the block ends well."""
        with self._lock:
            number = next(it for it in range(len(self._busy) + 1) if it not in self._busy)
            self._busy |= {number}
            connection = self._lanes.pop(number, None)
            if connection and not connection.sock:  # the server has closed it
                connection = None
        try:
            connection = connection or http_connection(self._connect())
            yield connection
        except BaseException:
            if connection:
                connection.close()
            raise
        else:
            with self._lock:
                if self._closed:
                    connection.close()
                else:
                    self._lanes[number] = connection
        finally:
            with self._lock:
                self._busy -= {number}

    def make_spare(self) -> None:
        """Make connections that avoid the lanes which are busy now, until there are some."""
        with self._lock:
            busy = self._busy
            known = [*(avoids for _, avoids in self._made), *(it.avoids for it in self._idle)]
            missing = SPARE - sum(busy <= avoids for avoids in known)
        with suppress(OSError):  # a server that is gone needs none
            for _ in range(missing):
                made = self._connect()
                with self._lock:
                    if self._closed:
                        made.close()
                    else:
                        self._made.append((made, busy))

    async def take(self) -> Connection:
        """Return a connection for one invocation. Raises `OSError` when the server is gone."""
        busy = self._busy
        for position in range(len(self._idle) - 1, -1, -1):
            if busy <= self._idle[position].avoids:
                connection = self._idle.pop(position)
                if connection.usable:
                    return connection
                connection.writer.close()
        self._loop = asyncio.get_running_loop()
        opened, avoids = self._spare(busy) or (await asyncio.to_thread(self._connect), busy)
        opened.setblocking(False)
        reader, writer = await asyncio.open_connection(sock=opened, limit=PART)
        return Connection(reader, writer, avoids)

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
            lanes, self._lanes = self._lanes, {}
            made, self._made = self._made, []
        for lane in lanes.values():
            lane.close()
        for opened, _ in made:
            opened.close()
        if self._loop:
            with suppress(RuntimeError):  # it has ended, and closed them
                self._loop.call_soon_threadsafe(self._close_idle)

    def _close_idle(self) -> None:
        while self._idle:
            self._idle.pop().writer.close()

    def _spare(self, busy: frozenset[int]) -> tuple[socket.socket, frozenset[int]] | None:
        with self._lock:
            fit = next((it for it in self._made if busy <= it[1]), None)
            if fit:
                self._made.remove(fit)
        return fit


def http_connection(connected: socket.socket) -> http.client.HTTPConnection:
    """Return an HTTP connection over a socket that is connected already."""
    connection = http.client.HTTPConnection("localhost")
    connection.sock = connected
    return connection
