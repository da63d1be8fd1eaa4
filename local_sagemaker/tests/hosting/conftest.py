"""Archives, and a program that stands in for tritonserver."""

import io
import socket
import sys
import tarfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from local_sagemaker.hosting import triton
from local_sagemaker.hosting.triton import Triton
from local_sagemaker.prerequisites import Interpreter, TritonInstallation

MakeTriton = Callable[..., Triton]

SERVER = """\
import json, os, pathlib, sys, threading, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

pathlib.Path("pid").write_text(str(os.getpid()))
print("starting", flush=True)
if "--die" in sys.argv:
    sys.exit("backend directory is empty")
(port,) = [it.partition("=")[2] for it in sys.argv if it.startswith("--sagemaker-port=")]
pings = [503] * sys.argv.count("--unhealthy")
four = threading.Barrier(4)


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path == "/ping":
            self.answer(b"", status=pings.pop() if pings else 200)
        elif self.path == "/started-with":
            self.answer(json.dumps([sys.argv[1:], dict(os.environ)]).encode())
        elif self.path == "/connection":
            self.answer(str(self.client_address[1]).encode())
        elif self.path == "/slow":
            while not pathlib.Path("enough").exists():
                time.sleep(0.005)
            self.answer(b"late")
        elif self.path == "/four-at-once":
            four.wait()
            self.answer(b"all here")
        elif self.path == "/break":
            self.close_connection = True
        elif self.path == "/nonsense":
            self.wfile.write(b"what?\\r\\n")
            self.close_connection = True

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(body, status=int(self.headers["Status"]))

    def answer(self, body, status=200):
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


ThreadingHTTPServer.daemon_threads = True
ThreadingHTTPServer.request_queue_size = 128
ThreadingHTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()
"""


@pytest.fixture
def instance(tmp_path: Path) -> Path:
    """The folder of an endpoint's instance."""
    folder = tmp_path / "instance"
    folder.mkdir()
    return folder


@pytest.fixture
def start(tmp_path: Path, instance: Path) -> Iterator[MakeTriton]:
    """Start the stand-in as `Triton`; whatever was started is stopped."""
    with stand_ins(tmp_path, instance) as make:
        yield make


@contextmanager
def stand_ins(root: Path, instance: Path) -> Iterator[MakeTriton]:
    """Give what starts the stand-in below `root`, in the folder `instance` unless told another."""
    binary = root / "bin" / "tritonserver"
    binary.parent.mkdir()
    binary.write_text(f"#!{sys.executable} -IS\n{SERVER}")
    binary.chmod(0o755)
    python = Interpreter(Path(sys.executable), "3.11", root / "libpython", root / "stub")
    installation = TritonInstallation(root, python, python, isolated=False)

    def make(
        *arguments: str,
        folder: Path = instance,
        environment: dict[str, str] | None = None,
        **options: Any,
    ) -> Triton:
        port = free_port()
        patch.setattr(triton, "SAGEMAKER_PORT", port)
        made = Triton(
            installation,
            arguments=[f"--sagemaker-port={port}", *arguments],
            environment=environment or {},
            backends=root / "backends",
            folder=folder,
            **options,
        )
        started.callback(made.stop)
        return made

    with pytest.MonkeyPatch.context() as patch, ExitStack() as started:
        yield make


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def pid_in(folder: Path) -> int:
    """Return the stand-in's process id, or 0 before it has written it."""
    path = folder / "pid"
    return int(path.read_text() or 0) if path.exists() else 0


def tar_gz(files: dict[str, bytes], *, mode: str = "w:gz") -> bytes:
    """Return an archive; names are taken as they are."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return content.getvalue()
