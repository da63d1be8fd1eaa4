"""ministack's server, without ministack."""

import asyncio
import socket
from pathlib import Path
from typing import Any

import pytest
from hypercorn.asyncio.tcp_server import TCPServer

from local_sagemaker import emulator

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
CLOSE_WAIT = "08"
"""State of a socket in /proc/net/tcp whose peer has closed it, and whose owner has not."""


async def answer(scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"answer"})


def states(port: int) -> list[str]:
    """Return the states of a server's connections."""
    lines = Path("/proc/self/net/tcp").read_text().splitlines()[1:]
    fields = [it.split() for it in lines]
    return [it[3] for it in fields if it[1].endswith(f":{port:04X}") and int(it[2][-4:], 16)]


async def test_a_connection_that_its_client_closes_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(TCPServer, "_read_data", TCPServer._read_data)  # as it was, afterwards
    emulator.close_what_clients_close()
    ended = asyncio.Event()
    monkeypatch.setattr(emulator, "stdin_closed", ended.wait)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    serving = asyncio.create_task(emulator._serve(answer, listener.detach()))
    for _ in range(3):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(2):  # it is kept
            writer.write(REQUEST)
            await reader.readuntil(b"answer")
        writer.close()
        await writer.wait_closed()
    while CLOSE_WAIT in (found := states(port)) or "01" in found:
        await asyncio.sleep(0.01)
    ended.set()
    await serving
