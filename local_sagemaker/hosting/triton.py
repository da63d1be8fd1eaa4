"""A tritonserver process in SageMaker mode, reached over sockets of its network namespace."""

import http.client
import json
import os
import socket
import subprocess
import sys
import sysconfig
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.hosting import broker, capacity, sandbox
from local_sagemaker.hosting.connections import THREADS, Connections
from local_sagemaker.hosting.packages import CACHE, environment_folder
from local_sagemaker.hosting.serve_script import SAGEMAKER_PORT
from local_sagemaker.prerequisites import (
    UNSHARE,
    TritonInstallation,
    library_search_path,
    search_path,
)

MAX_RESPONSE_BYTES = 16 << 20
"""Maximum size of a response to `request`."""
BROKER_SECONDS = 60  # for a busy machine; it normally answers immediately


@dataclass(frozen=True)
class Response:
    """An HTTP response of the container."""

    status: int
    headers: dict[str, str]
    body: bytes


class UnhealthyError(LocalSageMakerError):
    """A server has ended, or was not healthy in time; the message contains the end of its log."""


class Triton:
    """A running tritonserver. `environment` are the variables of the container.

    `folder` is the instance's folder; it contains the log, which begins with `log_lines`. `models`
    are the folder of the models and its path in the sandbox. `ping` is the HTTP path of the health
    check, and `threads` the number of threads of the HTTP server.

    `connections` serve invocations, loads and unloads, and belong to one event loop; `request` is
    thread-safe.
    """

    def __init__(
        self,
        installation: TritonInstallation,
        *,
        arguments: Sequence[str],
        environment: dict[str, str],
        backends: Path,
        folder: Path,
        log_lines: Sequence[str] = (),
        ping: str = "/ping",
        models: tuple[Path, Path] | None = None,
        threads: int = THREADS,
    ) -> None:
        self._ping = ping
        self.log = folder / "triton.log"
        self.connections = Connections(self.connect, folder / "gate", threads)
        self._address = "127.0.0.1", SAGEMAKER_PORT
        self._stopping = threading.Lock()
        self._broker, broker_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._broker.settimeout(BROKER_SECONDS)
        isolation: Sequence[str] = ()
        if installation.isolated:
            visible = _required_folders(installation, backends)
            isolation = (*UNSHARE, *sandbox.command(folder, models or (folder, folder), visible))
        server = [str(installation.binary), f"--backend-directory={backends}", *arguments]
        variables = {
            "PATH": search_path(environment_folder(backends)),
            "LD_LIBRARY_PATH": library_search_path(
                installation.model_python, installation.libraries
            ),
            "HOME": os.environ.get("HOME", "/"),
            **environment,
        }
        with self.log.open("ab") as log, broker_end, tempfile.TemporaryFile() as variables_file:
            log.writelines(f"{line}\n".encode() for line in log_lines)
            log.flush()
            variables_file.write(json.dumps(variables).encode())
            variables_file.seek(0)
            user = "-" if installation.user is None else str(installation.user)
            broker_command = [sys.executable, "-IS", broker.__file__, str(broker_end.fileno())]
            self._process = subprocess.Popen(
                [*isolation, *broker_command, user, *server],
                pass_fds=[broker_end.fileno()],
                stdin=variables_file,
                stdout=log,
                stderr=log,
                cwd=folder,
                env={"LD_LIBRARY_PATH": str(installation.own_python.library_path)},
                start_new_session=True,
            )

    def wait_until_healthy(self, timeout: float) -> None:
        """Wait until the health check answers 200. Raise `UnhealthyError` on timeout or exit."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline and self._process.poll() is None:
            if self.failed_ping(5) is None:
                return
            time.sleep(0.05)
        tail = "\n".join(self.log.read_text(errors="replace").splitlines()[-15:])
        raise UnhealthyError(
            f"The container did not pass the ping health check. Log: {self.log}\n{tail}"
        )

    def failed_ping(self, timeout: float) -> str | None:
        """Ping the server; return the problem, or None if it answers 200 within `timeout` s."""
        try:
            status = self.request("GET", self._ping, timeout=timeout).status
        except OSError as error:
            return f"GET {self._ping} is not answered ({error})"
        return None if status == 200 else f"GET {self._ping} is answered with {status}"

    def wait(self, timeout: float) -> bool:
        """Wait up to `timeout` seconds; return whether the server has ended."""
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return False
        return True

    @property
    def session(self) -> int:
        """The session id of the server and its child processes."""
        return self._process.pid

    def resident_bytes(self) -> int:
        """Return the memory of the server and its child processes in bytes."""
        return capacity.resident_bytes(self.session)

    def resident_by_folder(self) -> tuple[int, dict[str, int]]:
        """Return the memory in bytes, and that of the processes of each folder of `sandbox.MODELS`.

        Models of Triton's Python backend, also of the stand-ins, have processes of their own.
        """
        return capacity.resident_by_folder(self.session)

    def cpu_seconds(self) -> float:
        """Return the processor time of the server and its child processes."""
        return capacity.cpu_seconds(self.session)

    def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes = b"",
        headers: Mapping[str, str] | None = None,
        timeout: float,
    ) -> Response:
        """Send one HTTP request. Raise `OSError` if the server has ended or is too slow."""
        connection = http.client.HTTPConnection("localhost")
        connection.sock = self.connect()
        connection.sock.settimeout(timeout)
        with closing(connection):
            try:
                connection.request(method, path, body=body, headers=headers or {})
                answer = connection.getresponse()
                content = answer.read(MAX_RESPONSE_BYTES + 1)
            except http.client.HTTPException as error:
                raise ConnectionError(f"the container disconnected: {error!r}") from error
        if len(content) > MAX_RESPONSE_BYTES:
            raise ConnectionError(
                f"the response of the container has more than {MAX_RESPONSE_BYTES} bytes"
            )
        return Response(answer.status, dict(answer.getheaders()), content)

    def stop(self) -> None:
        """End the server; return when its processes have ended. Thread-safe."""
        with self._stopping:
            self.connections.close()  # Triton's HTTP server ends after its connections are closed
            with suppress(OSError):  # it has ended or is stopped already
                self._broker.shutdown(socket.SHUT_RDWR)
            try:
                self._process.wait(timeout=broker.EXIT_SECONDS + 5)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._broker.close()

    def connect(self) -> socket.socket:
        """Return a socket that is connected to the server. Raise `OSError` if the server has ended.

        Concurrent threads may get each other's sockets from the broker, which are equivalent.
        """
        try:
            self._broker.send(b"?")
            _, descriptors, _, _ = socket.recv_fds(self._broker, 1, 1)
        except TimeoutError:
            raise
        except OSError:  # the broker has exited with the server, or `stop` was called
            descriptors = []
        if not descriptors:
            raise ConnectionError("the container has exited")
        connected = socket.socket(fileno=descriptors[0])
        try:
            connected.connect(self._address)
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError:
            connected.close()
            raise
        return connected


def _required_folders(installation: TritonInstallation, backends: Path) -> set[Path]:
    """Return the folders of the programs and packages that a server needs.

    The cache must exist before the start: packages of stand-ins may be installed there later.
    """
    with suppress(OSError):  # a read-only home folder
        CACHE.mkdir(parents=True, exist_ok=True)
    python = installation.model_python
    libraries = {installation.own_python.library_path.parent, python.library_path.parent}
    prefixes = {Path(sys.prefix), Path(sys.base_prefix), *sandbox.links(python.program)}
    prefixes.add(Path(sysconfig.get_path("purelib")))  # can be behind a link in the prefix
    return {*prefixes, *libraries, *installation.folders, backends, CACHE}
