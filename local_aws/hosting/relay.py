"""Runs a server in this process's namespaces and relays a Unix socket to its port.

Started as a program: `relay.py SOCKET PORT LOG COMMAND...`. In a network namespace of its own the
server's port is reachable through the socket alone. Ends the server, and itself, when standard
input is closed; so nothing is left when the parent dies, however it dies.
"""

import asyncio
import ctypes
import fcntl
import os
import signal
import socket
import struct
import sys
from contextlib import suppress
from pathlib import Path

SIOCSIFFLAGS = 0x8914
IFF_UP_RUNNING = 0x1 | 0x40
EXIT_SECONDS = 10


def bring_loopback_up() -> None:
    """A new network namespace has a loopback device that is down."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sh14s", b"lo", IFF_UP_RUNNING, b"")
        fcntl.ioctl(handle, SIOCSIFFLAGS, request)


def mount_private_shared_memory() -> None:
    """Give the server a /dev/shm of its own: what it leaves there vanishes with it."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", 0, None) != 0:
        raise OSError(ctypes.get_errno(), "cannot mount a private /dev/shm")


async def pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Copy one direction of a connection until it ends."""
    with suppress(ConnectionError):
        while data := await reader.read(1 << 18):
            writer.write(data)
            await writer.drain()
    with suppress(OSError):
        writer.close()


async def stdin_closed() -> None:
    """Return once the parent has closed our standard input, or has died."""
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.read(1024):
        pass


async def relay(path: str, port: int, log: str, command: list[str]) -> int:
    """Run `command` until it ends or standard input is closed; return its exit status."""

    async def connect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            up_reader, up_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(pump(reader, up_writer), pump(up_reader, writer))

    with Path(log).open("ab") as output:
        server = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.DEVNULL, stdout=output, stderr=output
        )
    async with await asyncio.start_unix_server(connect, path):
        ended = asyncio.ensure_future(server.wait())
        await asyncio.wait(
            {ended, asyncio.ensure_future(stdin_closed())}, return_when=asyncio.FIRST_COMPLETED
        )
        if not ended.done():
            server.send_signal(signal.SIGTERM)
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(ended), EXIT_SECONDS)
        if not ended.done():
            server.kill()
        return await ended


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    if os.getpid() == 1:  # in namespaces of our own
        bring_loopback_up()
        mount_private_shared_memory()
    sys.exit(asyncio.run(relay(sys.argv[1], int(sys.argv[2]), sys.argv[3], sys.argv[4:])))
