import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from local_sagemaker.hosting import broker
from local_sagemaker.tests.hosting.conftest import free_port, pid_in
from local_sagemaker.tests.support.waiting import eventually, runs

WAITING = """\
import os, pathlib, signal, sys, time
{before}
pathlib.Path("pid").write_text(str(os.getpid()))
time.sleep(300)
"""
ECHO = """\
import os, pathlib, socket, sys
server = socket.create_server(("127.0.0.1", int(sys.argv[1])))
pathlib.Path("pid").write_text(str(os.getpid()))
while True:
    connection, _ = server.accept()
    with connection:
        while data := connection.recv(1 << 16):
            connection.sendall(data)
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The working directory of broker and server; no server is left in the end."""
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    pid = pid_in(tmp_path)
    assert not runs(pid)


def command(program: str, *arguments: str, before: str = "") -> list[str]:
    code = program.replace("{before}", before)
    return [sys.executable, "-I", "-S", "-c", code, *arguments]


class Broker:
    """The broker as `Triton` starts it."""

    def __init__(self, server: list[str]) -> None:
        self.ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs, Path("log").open("ab") as log:
            program = [sys.executable, broker.__file__, str(theirs.fileno()), *server]
            self.process = subprocess.Popen(
                program, pass_fds=[theirs.fileno()], stdout=log, stderr=log
            )

    def close(self) -> int:
        """Do what the end of the parent does; return the exit status."""
        self.ours.close()
        return self.process.wait()

    def socket(self) -> socket.socket:
        """Return a socket that the broker hands out."""
        self.ours.send(b"?")
        _, (descriptor,), _, _ = socket.recv_fds(self.ours, 1, 1)
        return socket.socket(fileno=descriptor)


def inode(opened: socket.socket) -> int:
    return os.fstat(opened.fileno()).st_ino


def test_closing_the_socket_ends_the_server(folder: Path) -> None:
    started = Broker(command(WAITING))
    server = eventually(lambda: pid_in(folder))
    assert runs(server)
    started.close()
    assert not runs(server)


def test_the_server_is_asked_to_end_before_it_is_made_to(folder: Path) -> None:
    polite = "signal.signal(signal.SIGTERM, lambda *_: sys.exit('unloading models'))"
    started = Broker(command(WAITING, before=polite))
    eventually(lambda: pid_in(folder))
    assert started.close() == 1
    assert (folder / "log").read_text() == "unloading models\n"


def test_the_broker_ends_with_its_server_and_its_status(folder: Path) -> None:
    started = Broker([sys.executable, "-I", "-S", "-c", "import sys; print('out'); sys.exit(7)"])
    assert started.process.wait() == 7
    assert (folder / "log").read_text() == "out\n"
    started.close()


def test_the_log_is_added_to(folder: Path) -> None:
    (folder / "log").write_text("before\n")
    Broker([sys.executable, "-I", "-S", "-c", "import sys; sys.exit('after')"]).close()
    assert (folder / "log").read_text().startswith("before\n")


def test_nothing_is_left_when_the_parent_is_killed(folder: Path) -> None:
    program = (
        "import socket, subprocess, sys\n"
        "ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n"
        "number = theirs.fileno()\n"
        "command = [sys.executable, sys.argv[1], str(number), *sys.argv[2:]]\n"
        "process = subprocess.Popen(command, pass_fds=[number])\n"
        "theirs.close()\n"
        "print(process.pid, flush=True)\nprocess.wait()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", program, broker.__file__, *command(WAITING)],
        stdout=subprocess.PIPE,
        text=True,
    ) as parent:
        assert parent.stdout
        pid = int(parent.stdout.readline())
        server = eventually(lambda: pid_in(folder))
        parent.kill()
    eventually(lambda: not runs(pid) and not runs(server))


def test_an_interrupt_is_left_to_the_parent(folder: Path) -> None:
    started = Broker(command(WAITING))
    eventually(lambda: pid_in(folder))
    os.kill(started.process.pid, signal.SIGINT)
    started.socket().close()
    started.close()


def test_a_socket_that_is_handed_out_reaches_the_server(folder: Path) -> None:
    port = free_port()
    started = Broker(command(ECHO, str(port)))
    eventually(lambda: pid_in(folder))
    for _ in range(2):
        with started.socket() as client:
            client.connect(("127.0.0.1", port))
            client.sendall(b"hello")
            assert client.recv(100) == b"hello"
    started.close()


def test_each_socket_is_another_one(folder: Path) -> None:
    started = Broker(command(WAITING))
    eventually(lambda: pid_in(folder))
    with ExitStack() as sockets:
        assert len({inode(sockets.enter_context(started.socket())) for _ in range(8)}) == 8
    started.close()


def test_a_server_that_does_not_end_on_sigterm_is_killed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(broker, "EXIT_SECONDS", 0.1)
    stubborn = command(WAITING, before="signal.signal(signal.SIGTERM, signal.SIG_IGN)")
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    async def closed_once_it_runs() -> int:
        running = asyncio.ensure_future(broker.run(theirs.detach(), stubborn))
        while not pid_in(folder):
            await asyncio.sleep(0.005)
        ours.close()
        return await running

    assert asyncio.run(closed_once_it_runs()) == -signal.SIGKILL
