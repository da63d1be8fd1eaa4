"""The server process and its child process, a fake ministack."""

import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from local_sagemaker.lifecycle import LOOPBACK_OPENER
from local_sagemaker.tests.hosting.conftest import free_port
from local_sagemaker.tests.support.waiting import eventually, runs

EMULATOR = """\
import asyncio, os, pathlib, sys
from local_sagemaker import emulator

async def application(scope, receive, send):
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"emulated"})

assert sys.argv[1:3] == ["-m", "local_sagemaker.emulator"], sys.argv
pathlib.Path("emulator").write_text(str(os.getpid()))
asyncio.run(emulator._serve(application, int(sys.argv[5]), []))
"""
FRONT = """\
import os, pathlib, signal, sys, types
from local_sagemaker.front import server

class Services:
    control_planes, runtime, dashboard, ask = (), None, None, None

    def __init__(self, folder, triton, ministack, calls):
        if {early}:
            os.kill(os.getpid(), signal.SIGTERM)
        if {broken}:
            raise OSError("no space left")

    def stop(self):
        pathlib.Path("stopped").touch()

installed = types.SimpleNamespace(model_python=types.SimpleNamespace(version="3.10"))
server.find_triton = lambda: installed
server.Services = Services
server.sys = types.SimpleNamespace(
    executable=os.path.abspath("python"), stderr=sys.stderr
)
server.run(server.Folder(pathlib.Path.cwd()), int(sys.argv[1]))
"""
NEVER = {"early": "False", "broken": "False"}


class Front:
    """A server process with its own folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        script = folder / "python"
        script.write_text(f"#!{sys.executable}\n{EMULATOR}")
        script.chmod(0o755)

    def start(self, **settings: str) -> "subprocess.Popen[bytes]":
        program = FRONT.format(**{**NEVER, **settings})
        environment = {**os.environ, "PYTHONPATH": str(Path.cwd())}
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-c", program, str(self.port)],
                cwd=self.folder,
                env=environment,
                stderr=log,
            )
        return self.process

    def serve(self) -> None:
        """Start the server and wait until it answers."""
        self.start()
        eventually(self._answers)

    def _answers(self) -> bool:
        try:
            with LOOPBACK_OPENER.open(f"http://127.0.0.1:{self.port}/") as answer:
                return bool(answer.read() == b"emulated")
        except urllib.error.URLError:
            assert self.process.poll() is None, self.log
            return False

    @property
    def emulator(self) -> int:
        return int((self.folder / "emulator").read_text())

    @property
    def stopped(self) -> bool:
        return (self.folder / "stopped").exists()

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Front]:
    """A server that tests start; it is killed after the test."""
    server = Front(tmp_path)
    yield server
    server.process.kill()
    server.process.wait()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signal_ends_services_and_child(front: Front, number: int) -> None:
    front.serve()
    emulator = front.emulator
    front.process.send_signal(number)
    assert front.process.wait() == 0
    assert front.stopped
    assert not runs(emulator)
    assert front.log == ""


def test_signal_during_the_start_ends_the_server(front: Front) -> None:
    assert front.start(early="True").wait() == 0
    assert front.stopped
    assert not runs(front.emulator)


def test_failed_start_ends_the_child(front: Front) -> None:
    assert front.start(broken="True").wait() == 1
    assert front.log.endswith("OSError: no space left\n")
    assert not (front.folder / "emulator").exists() or not runs(front.emulator)


def test_end_of_the_child_ends_the_server(front: Front) -> None:
    front.serve()
    os.kill(front.emulator, signal.SIGKILL)
    assert front.process.wait() == 0
    assert front.stopped
    assert front.log == (
        "error: the local SageMaker stopped, because its process of the other AWS services was "
        "ended by signal 9 (Killed), which the kernel also sends when memory is used up\n"
    )


def test_killed_server_leaves_no_child(front: Front) -> None:
    front.serve()
    emulator = front.emulator
    front.process.kill()
    front.process.wait()
    eventually(lambda: not runs(emulator))
