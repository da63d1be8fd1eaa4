"""uvicorn's HTTP server, with an answer's head and first part in one packet.

uvicorn writes them one after the other: two system calls, each of which wakes the client. That was
a fifth of the time that a small invocation takes in this process.
"""

import asyncio
from typing import Any, Literal

import uvicorn
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol


class Protocol(HttpToolsProtocol):
    """What uvicorn speaks to clients with."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Write through what joins the parts."""
        super().connection_made(_Joining(transport))  # type: ignore[arg-type]


class _Joining:
    """A transport that writes at the end of the event loop's turn what was written in it."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._parts: list[bytes] = []
        self._loop = asyncio.get_running_loop()

    def write(self, part: bytes) -> None:
        if not self._parts:
            self._loop.call_soon(self._flush)
        self._parts.append(part)

    def close(self) -> None:
        self._flush()
        self._transport.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def _flush(self) -> None:
        parts, self._parts = self._parts, []
        if parts:
            self._transport.writelines(parts)


def http_server(
    application: Any, *, port: int = 0, keep_alive: int = 75, lifespan: Literal["on", "off"] = "off"
) -> uvicorn.Server:
    """Return the HTTP server of an ASGI application, on loopback.

    It closes a connection that is idle for `keep_alive` seconds.
    """
    return uvicorn.Server(
        uvicorn.Config(
            application,
            host="127.0.0.1",
            port=port,
            http=Protocol,
            interface="asgi3",
            lifespan=lifespan,
            ws="none",
            log_level="warning",
            access_log=False,
            proxy_headers=False,
            server_header=False,
            timeout_keep_alive=keep_alive,
            timeout_graceful_shutdown=1,
        )
    )
