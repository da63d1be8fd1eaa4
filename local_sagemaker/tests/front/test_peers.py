import asyncio
import os
import socket
import subprocess
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from local_sagemaker.api import send_response
from local_sagemaker.front import peers
from local_sagemaker.tests.conftest import served

OTHER_USER = 65534
REQUEST = r"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
SEND_REQUEST = f"exec 3<>/dev/tcp/127.0.0.1/$0; printf '{REQUEST}' >&3; head -1 <&3"
"""A script of bash: another user may not execute the Python of this one."""


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_only_an_open_socket_of_this_user_is_trusted(
    listener: socket.socket, family: socket.AddressFamily, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java connects to IPv4 with sockets of IPv6. A closed socket has user 0, which is root's."""
    prefix = "::ffff:" if family == socket.AF_INET6 else ""
    with socket.socket(family) as client_socket:
        client_socket.connect((f"{prefix}127.0.0.1", listener.getsockname()[1]))
        server, address = listener.accept()
        with server:
            assert peers.is_trusted(address, server.getsockname())
            client_socket.close()
            monkeypatch.setattr(os, "getuid", lambda: 0)
            assert not peers.is_trusted(address, server.getsockname())


@pytest.mark.skipif(os.getuid() == 0, reason="root is trusted: the next test has another user")
def test_user_is_compared(listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_connection(listener.getsockname()):
        server, address = listener.accept()
        with server:
            monkeypatch.setattr(os, "getuid", lambda: OTHER_USER)
            assert not peers.is_trusted(address, server.getsockname())


@pytest.mark.skipif(os.getuid() != 0, reason="only root can start a process of another user")
async def test_process_of_another_user_is_refused() -> None:
    async def application(_scope: Any, _receive: Any, send: Any) -> None:
        await send_response(send, (200, {}, b""))

    async with served(application) as port:
        for user, answer in ((0, "HTTP/1.1 200"), (OTHER_USER, "HTTP/1.1 403")):
            command = ["bash", "-c", SEND_REQUEST, str(port)]
            run = partial(
                subprocess.run, command, stdout=subprocess.PIPE, text=True, user=user, check=True
            )
            assert (await asyncio.to_thread(run)).stdout.startswith(answer)
