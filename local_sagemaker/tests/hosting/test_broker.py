import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_sagemaker.hosting import broker
from local_sagemaker.tests.support.waiting import eventually, runs

SLEEPING_SERVER = """\
import os, pathlib, signal, sys, time
{before}
pathlib.Path("pid").write_text(str(os.getpid()))
time.sleep(300)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working directory of broker and server; the server must have ended after the test."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    pid = server_pid(tmp_path)
    assert not runs(pid)


def command(program: str, *arguments: str, before: str = "") -> list[str]:
    code = program.replace("{before}", before)
    return [sys.executable, "-I", "-S", "-c", code, *arguments]


def server_pid(folder: Path) -> int:
    """Return the process ID of the fake server, or 0 before the server has written it."""
    path = folder / "pid"
    return int(path.read_text() or 0) if path.exists() else 0


class Broker:
    """A broker process, started as `Triton` starts it."""

    def __init__(self, server: list[str]) -> None:
        self.parent_socket, broker_socket = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with broker_socket, Path("log").open("ab") as log:
            program = [sys.executable, broker.__file__, str(broker_socket.fileno()), "-", *server]
            self.process = subprocess.Popen(
                program,
                pass_fds=[broker_socket.fileno()],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
            )
            assert self.process.stdin
            with self.process.stdin as environment:
                environment.write(b"{}")

    def close(self) -> int:
        """Close the parent's socket, wait for the broker and return its exit code."""
        self.parent_socket.close()
        return self.process.wait()

    def socket(self) -> socket.socket:
        """Request a socket from the broker."""
        self.parent_socket.send(b"?")
        _, (descriptor,), _, _ = socket.recv_fds(self.parent_socket, 1, 1)
        return socket.socket(fileno=descriptor)


def test_server_is_stopped_by_sigterm_first(folder: Path) -> None:
    exit_on_sigterm = "signal.signal(signal.SIGTERM, lambda *_: sys.exit('unloading models'))"
    started = Broker(command(SLEEPING_SERVER, before=exit_on_sigterm))
    eventually(lambda: server_pid(folder))
    assert started.close() == 1
    assert (folder / "log").read_text() == "unloading models\n"


def test_broker_exits_with_the_exit_code_of_the_server(folder: Path) -> None:
    started = Broker([sys.executable, "-I", "-S", "-c", "import sys; print('out'); sys.exit(7)"])
    assert started.process.wait() == 7
    assert (folder / "log").read_text() == "out\n"
    started.close()


def test_broker_ignores_sigint(folder: Path) -> None:
    started = Broker(command(SLEEPING_SERVER))
    eventually(lambda: server_pid(folder))
    os.kill(started.process.pid, signal.SIGINT)
    started.socket().close()
    started.close()


def test_server_that_ignores_sigterm_is_killed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker, "EXIT_SECONDS", 0.1)
    ignore_sigterm = command(
        SLEEPING_SERVER, before="signal.signal(signal.SIGTERM, signal.SIG_IGN)"
    )
    parent_socket, broker_socket = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    async def close_running_broker() -> int:
        running = asyncio.ensure_future(broker.run(broker_socket.detach(), ignore_sigterm, {}))
        while not server_pid(folder):
            await asyncio.sleep(0.005)
        parent_socket.close()
        return await running

    assert asyncio.run(close_running_broker()) == -signal.SIGKILL


def test_request_is_not_read_after_the_end_of_the_server() -> None:
    """A request that arrives with the end of the server would be read from a closed socket."""
    parent_socket, broker_socket = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    async def run_and_request() -> None:
        descriptor = broker_socket.detach()
        assert await broker.run(descriptor, [sys.executable, "-I", "-S", "-c", ""], {}) == 0
        assert not asyncio.get_running_loop().remove_reader(descriptor)

    with parent_socket:
        asyncio.run(run_and_request())
