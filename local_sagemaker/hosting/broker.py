"""A program that runs a server in its own namespaces, and sends sockets to its parent process.

Usage: `broker.py DESCRIPTOR USER COMMAND...`, with the environment variables of the server as a
JSON object on standard input. They are the container's: a variable such as LD_PRELOAD must not have
an effect on a program that starts the sandbox, or that has capabilities.

DESCRIPTOR is a Unix socket connected to the parent. A TCP socket always belongs to the network
namespace in which it was created (network_namespaces(7)): for each byte from the parent, the broker
creates a socket and sends it over SCM_RIGHTS, and the parent connects it to the server's port. The
server inherits standard output and error. When the parent closes its socket or exits, the broker
ends the server and itself. The server runs as the user with the id USER, or as the broker's user if
USER is `-`.
"""

import asyncio
import ctypes
import fcntl
import json
import os
import signal
import socket
import struct
import sys
from contextlib import suppress

SIOCSIFFLAGS = 0x8914
IFF_UP_RUNNING = 0x1 | 0x40
PR_CAPBSET_DROP, LAST_CAPABILITY = 24, 63
EXIT_SECONDS = 10


def bring_loopback_up() -> None:
    """Enable the loopback device, which is down in a new network namespace."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as handle:
        request = struct.pack("16sh14s", b"lo", IFF_UP_RUNNING, b"")
        fcntl.ioctl(handle, SIOCSIFFLAGS, request)


def mount_private_shared_memory() -> None:
    """Mount a private /dev/shm, which disappears with the server."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"tmpfs", b"/dev/shm", b"tmpfs", 0, None) != 0:
        raise OSError(ctypes.get_errno(), "cannot mount a private /dev/shm")


def drop_capabilities() -> None:
    """Drop all capabilities, so that the server cannot change its mounts as root of the namespace.

    The bounding set limits the capabilities of executed programs (capabilities(7)). In a nested
    user namespace all mounts are locked (mount_namespaces(7)).
    """
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(LAST_CAPABILITY + 1):
        # This call fails for numbers that the kernel does not know.
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)


def send_new_socket(parent: socket.socket, closed: asyncio.Event) -> None:
    """Answer a byte from the parent with a new socket; if its socket is closed, set `closed`."""
    request = b""
    with suppress(ConnectionError):
        request = parent.recv(1)
    if not request:
        asyncio.get_running_loop().remove_reader(parent)  # it stays readable
        closed.set()
        return
    with suppress(OSError), socket.socket(socket.AF_INET) as new:  # the parent may have exited
        socket.send_fds(parent, [b"s"], [new.fileno()])


async def run(
    descriptor: int, command: list[str], environment: dict[str, str], user: int | None = None
) -> int:
    """Run `command` until it ends or the parent closes its socket; return the exit status."""
    closed = asyncio.Event()
    with socket.socket(fileno=descriptor) as parent:
        parent.setblocking(False)
        server = await asyncio.create_subprocess_exec(
            *command,
            stdin=asyncio.subprocess.DEVNULL,
            env=environment,
            user=user,
            group=user,
            extra_groups=None if user is None else [],
        )
        loop = asyncio.get_running_loop()
        loop.add_reader(parent, send_new_socket, parent, closed)
        ended = asyncio.ensure_future(server.wait())
        await asyncio.wait(
            {ended, asyncio.ensure_future(closed.wait())}, return_when=asyncio.FIRST_COMPLETED
        )
        loop.remove_reader(parent)  # a request may be scheduled already
        if not ended.done():
            server.send_signal(signal.SIGTERM)
            with suppress(TimeoutError):
                await asyncio.wait_for(asyncio.shield(ended), EXIT_SECONDS)
        if not ended.done():
            server.kill()
        return await ended


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent handles Ctrl-C
    if os.getpid() == 1:  # in new namespaces
        bring_loopback_up()
        mount_private_shared_memory()
        drop_capabilities()
    number, name, *server_command = sys.argv[1:]
    user_id = None if name == "-" else int(name)
    sys.exit(asyncio.run(run(int(number), server_command, json.load(sys.stdin), user_id)))
