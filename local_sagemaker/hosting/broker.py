"""Runs a server in this process's namespaces and hands out sockets that reach it from outside.

Started as a program: `broker.py DESCRIPTOR COMMAND...`, of a Unix socket that is connected to the
parent. A TCP socket belongs for good to the network namespace in which it was made
(network_namespaces(7)): for each byte from the parent, the broker sends it one over SCM_RIGHTS,
which the parent connects to the server's port with nothing in between. The server writes to this
process's standard output and error. The broker ends the server, and itself, when the parent closes
its end; so nothing is left when the parent dies, however it dies.
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

SIOCSIFFLAGS = 0x8914
IFF_UP_RUNNING = 0x1 | 0x40
PR_CAPBSET_DROP, LAST_CAPABILITY = 24, 63
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


def give_up_capabilities() -> None:
    """Keep the server from undoing how its files are mounted: it is root of this namespace.

    What a program has that is executed is limited by the bounding set (capabilities(7)). In a user
    namespace below this one, all mounts are locked (mount_namespaces(7)).
    """
    libc = ctypes.CDLL(None, use_errno=True)
    for capability in range(LAST_CAPABILITY + 1):
        libc.prctl(PR_CAPBSET_DROP, capability, 0, 0, 0)  # this kernel may not have the last ones


def hand_out(parent: socket.socket, closed: asyncio.Event) -> None:
    """Give the parent a socket of this namespace for a byte; note when it has closed its end."""
    request = b""
    with suppress(ConnectionError):
        request = parent.recv(1)
    if not request:
        asyncio.get_running_loop().remove_reader(parent)
        closed.set()
        return
    with suppress(OSError), socket.socket(socket.AF_INET) as made:  # it may have gone meanwhile
        socket.send_fds(parent, [b"s"], [made.fileno()])


async def run(descriptor: int, command: list[str]) -> int:
    """Run `command` until it ends or the parent closes its end; return its exit status."""
    closed = asyncio.Event()
    with socket.socket(fileno=descriptor) as parent:
        parent.setblocking(False)
        server = await asyncio.create_subprocess_exec(*command, stdin=asyncio.subprocess.DEVNULL)
        asyncio.get_running_loop().add_reader(parent, hand_out, parent, closed)
        ended = asyncio.ensure_future(server.wait())
        await asyncio.wait(
            {ended, asyncio.ensure_future(closed.wait())}, return_when=asyncio.FIRST_COMPLETED
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
        give_up_capabilities()
    sys.exit(asyncio.run(run(int(sys.argv[1]), sys.argv[2:])))
