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


def start(server: list[str]) -> "subprocess.Popen[bytes]":
    """Start the broker as `Triton` does."""
    with listening() as listener, Path("log").open("ab") as log:
        program = [sys.executable, broker.__file__, str(listener.fileno()), *server]
        return subprocess.Popen(
            program, pass_fds=[listener.fileno()], stdin=subprocess.PIPE, stdout=log, stderr=log
        )


def listening() -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind("s")
    listener.listen()
    return listener


def close(process: "subprocess.Popen[bytes]") -> int:
    assert process.stdin
    process.stdin.close()
    return process.wait()


def asked() -> socket.socket:
    """Return a socket that the broker hands out."""
    with socket.socket(socket.AF_UNIX) as asking:
        asking.connect("s")
        _, (descriptor,), _, _ = socket.recv_fds(asking, 1, 1)
    return socket.socket(fileno=descriptor)


def inode(opened: socket.socket) -> int:
    return os.fstat(opened.fileno()).st_ino


def test_closing_standard_input_ends_the_server(folder: Path) -> None:
    process = start(command(WAITING))
    server = eventually(lambda: pid_in(folder))
    assert runs(server)
    close(process)
    assert not runs(server)


def test_the_server_is_asked_to_end_before_it_is_made_to(folder: Path) -> None:
    polite = "signal.signal(signal.SIGTERM, lambda *_: sys.exit('unloading models'))"
    process = start(command(WAITING, before=polite))
    eventually(lambda: pid_in(folder))
    assert close(process) == 1
    assert (folder / "log").read_text() == "unloading models\n"


def test_the_broker_ends_with_its_server_and_its_status(folder: Path) -> None:
    process = start([sys.executable, "-I", "-S", "-c", "import sys; print('out'); sys.exit(7)"])
    assert process.wait() == 7
    assert (folder / "log").read_text() == "out\n"
    close(process)


def test_the_log_is_added_to(folder: Path) -> None:
    (folder / "log").write_text("before\n")
    close(start([sys.executable, "-I", "-S", "-c", "import sys; sys.exit('after')"]))
    assert (folder / "log").read_text().startswith("before\n")


def test_nothing_is_left_when_the_parent_is_killed(folder: Path) -> None:
    server = command(WAITING)
    program = (
        "import subprocess, sys\n"
        "process = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, close_fds=False)\n"
        "print(process.pid, flush=True)\nprocess.wait()\n"
    )
    with listening() as listener:
        brokered = [sys.executable, broker.__file__, str(listener.fileno()), *server]
        with subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", program, *brokered],
            pass_fds=[listener.fileno()],
            stdout=subprocess.PIPE,
            text=True,
        ) as parent:
            assert parent.stdout
            pid = int(parent.stdout.readline())
            served = eventually(lambda: pid_in(folder))
            parent.kill()
    eventually(lambda: not runs(pid) and not runs(served))


def test_an_interrupt_is_left_to_the_parent(folder: Path) -> None:
    process = start(command(WAITING))
    eventually(lambda: pid_in(folder))
    os.kill(process.pid, signal.SIGINT)
    asked().close()
    close(process)


def test_a_socket_that_is_handed_out_reaches_the_server(folder: Path) -> None:
    port = free_port()
    process = start(command(ECHO, str(port)))
    eventually(lambda: pid_in(folder))
    for _ in range(2):
        with asked() as client:
            client.connect(("127.0.0.1", port))
            client.sendall(b"hello")
            assert client.recv(100) == b"hello"
    close(process)


def test_everyone_who_asks_gets_a_socket_of_their_own(folder: Path) -> None:
    process = start(command(WAITING))
    eventually(lambda: pid_in(folder))
    with ExitStack() as given:
        assert len({inode(given.enter_context(asked())) for _ in range(8)}) == 8
    close(process)


def test_who_asks_and_leaves_disturbs_nobody(folder: Path) -> None:
    process = start(command(WAITING))
    eventually(lambda: pid_in(folder))
    for _ in range(3):
        with socket.socket(socket.AF_UNIX) as leaving:
            leaving.connect("s")
    asked().close()
    close(process)


def test_a_server_that_does_not_end_when_asked_is_killed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def closed_once_it_runs() -> None:
        while not pid_in(folder):
            await asyncio.sleep(0.005)

    monkeypatch.setattr(broker, "EXIT_SECONDS", 0.1)
    monkeypatch.setattr(broker, "stdin_closed", closed_once_it_runs)
    stubborn = command(WAITING, before="signal.signal(signal.SIGTERM, signal.SIG_IGN)")
    assert asyncio.run(broker.run(listening().detach(), stubborn)) == -signal.SIGKILL
