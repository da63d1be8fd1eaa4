"""Archives and a fake tritonserver program."""

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

StartTriton = Callable[..., Triton]

SERVER = """\
import json, os, pathlib, sys, time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

pathlib.Path("pid").write_text(str(os.getpid()))
print("starting", flush=True)
if "--die" in sys.argv:
    sys.exit("backend directory is empty")
options = dict(argument.partition("=")[::2] for argument in sys.argv)
pings = [503] * sys.argv.count("--unhealthy")


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
            while not pathlib.Path("may-respond").exists():
                time.sleep(0.005)
            self.answer(b"late")

        elif self.path == "/break":
            self.close_connection = True
        elif self.path == "/invalid":
            self.wfile.write(b"no HTTP\\r\\n")
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
port = int(options["--sagemaker-port"])
ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
"""


@pytest.fixture
def instance_folder(tmp_path: Path) -> Path:
    """The folder of an endpoint instance."""
    folder = tmp_path / "instance"
    folder.mkdir()
    return folder


@pytest.fixture
def start_triton(tmp_path: Path, instance_folder: Path) -> Iterator[StartTriton]:
    """A function that starts the fake server as `Triton`; servers are stopped after the test."""
    with fake_servers(tmp_path, instance_folder) as start:
        yield start


@contextmanager
def fake_servers(root: Path, instance_folder: Path) -> Iterator[StartTriton]:
    """Yield a function that starts fake servers; their default folder is `instance_folder`."""
    binary = root / "bin" / "tritonserver"
    binary.parent.mkdir()
    binary.write_text(f"#!{sys.executable} -IS\n{SERVER}")
    binary.chmod(0o755)
    python = Interpreter(Path(sys.executable), "3.11", root / "libpython", root / "stub")
    not_isolated = TritonInstallation(root, python, python, isolated=False)

    def start(
        *arguments: str,
        folder: Path = instance_folder,
        environment: dict[str, str] | None = None,
        installation: TritonInstallation = not_isolated,
        **options: Any,
    ) -> Triton:
        port = free_port()
        patch.setattr(triton, "SAGEMAKER_PORT", port)
        server = Triton(
            installation,
            arguments=[f"--sagemaker-port={port}", *arguments],
            environment=environment or {},
            backends=root / "backends",
            folder=folder,
            **options,
        )
        servers.callback(server.stop)
        return server

    with pytest.MonkeyPatch.context() as patch, ExitStack() as servers:
        yield start


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


def server_pid(folder: Path) -> int:
    """Return the process ID of the fake server, or 0 before the server has written it."""
    path = folder / "pid"
    return int(path.read_text() or 0) if path.exists() else 0


def tar_gz(files: dict[str, bytes], *, mode: str = "w:gz") -> bytes:
    """Return an archive with these member names and contents."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return content.getvalue()
