"""One tritonserver process in SageMaker mode, reached over sockets of its own namespace."""

import http.client
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.hosting import broker, capacity, model_environment, sandbox
from local_sagemaker.hosting.connections import Connections, http_connection
from local_sagemaker.hosting.package_cache import CACHE
from local_sagemaker.hosting.serve import SAGEMAKER_PORT
from local_sagemaker.prerequisites import UNSHARE, TritonInstallation, search_path

SOCKET = "triton.sock"
MOST_BYTES = 16 << 20
"""Of an answer to anything but an invocation: a model may answer in Triton's place."""
WAITING = 256
"""How many may ask for a connection at once."""
BROKER_SECONDS = 60  # it answers at once: only a busy machine takes long


@dataclass(frozen=True)
class Response:
    """What the container answered."""

    status: int
    headers: dict[str, str]
    body: bytes


class UnhealthyError(LocalSageMakerError):
    """A server that has ended, or was not healthy in time; the message has the end of its log."""


class Triton:
    """A running server. `arguments` are tritonserver's; `environment` is the container's.

    `folder` is the instance's: its log, which begins with the lines `said`, and its socket are
    there. `models` are the folder with the models and where the server sees it. `ping` is the path
    at which the server says whether it is healthy. `connections` are for invocations.

    Requests may come from several threads.
    """

    def __init__(
        self,
        installation: TritonInstallation,
        *,
        arguments: Sequence[str],
        environment: dict[str, str],
        backends: Path,
        folder: Path,
        said: Sequence[str] = (),
        ping: str = "/ping",
        models: tuple[Path, Path] | None = None,
    ) -> None:
        self._ping = ping
        self.log = folder / "triton.log"
        self.connections = Connections(self.connect)
        self._address = "127.0.0.1", SAGEMAKER_PORT
        self._folder = os.open(folder, os.O_PATH | os.O_DIRECTORY)  # -1 once stopped
        self._lock, self._stopping = threading.Lock(), threading.Lock()
        server = [str(installation.binary), f"--backend-directory={backends}", *arguments]
        isolation: Sequence[str] = ()
        if installation.isolated:
            kept = _programs(installation, backends)
            isolation = (*UNSHARE, *sandbox.command(folder, models or (folder, folder), kept))
        with self.log.open("ab") as log, self._listener() as listener:
            log.writelines(f"{line}\n".encode() for line in said)
            log.flush()
            brokered = [sys.executable, broker.__file__, str(listener.fileno())]
            self._process = subprocess.Popen(
                [*isolation, *brokered, *server],
                pass_fds=[listener.fileno()],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                cwd=folder,
                env={
                    "PATH": search_path(model_environment.folder(backends)),
                    "LD_LIBRARY_PATH": str(installation.model_python.library_path),
                    "HOME": os.environ.get("HOME", "/"),
                    **environment,
                },
                start_new_session=True,
            )

    def wait_until_healthy(self, timeout: float) -> None:
        """Return when /ping answers 200. Raises `UnhealthyError`."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline and self._process.poll() is None:
            if self.failed_ping(5) is None:
                return
            time.sleep(0.05)
        raise UnhealthyError(
            f"The container did not pass the ping health check. Log: {self.log}\n{self._tail()}"
        )

    def failed_ping(self, timeout: float) -> str | None:
        """Return what is wrong with the answer to a ping; None if it is 200 within `timeout` s."""
        try:
            status = self.request("GET", self._ping, timeout=timeout).status
        except OSError as error:
            return f"GET {self._ping} is not answered ({error})"
        return None if status == 200 else f"GET {self._ping} is answered with {status}"

    def wait(self, timeout: float) -> bool:
        """Return True when the server has ended, and False when it runs after `timeout` s."""
        try:
            self._process.wait(timeout)
        except subprocess.TimeoutExpired:
            return False
        return True

    @property
    def session(self) -> int:
        """The session that the server and all that it started share."""
        return self._process.pid

    def resident_bytes(self) -> int:
        """Return the memory of the server and all that it started, which share a session."""
        return capacity.resident_bytes(self.session)

    def cpu_seconds(self) -> float:
        """Return what the server and all that it started have used of the processors."""
        return capacity.cpu_seconds(self.session)

    def request(
        self,
        method: str,
        path: str,
        *,
        body: bytes = b"",
        headers: dict[str, str] | None = None,
        timeout: float,
    ) -> Response:
        """Send one HTTP request. Raises `OSError` when the server is gone or too slow."""
        connection = http_connection(self.connect())
        with closing(connection):
            return self._exchange(connection, (method, path, body, headers), timeout)

    def manage(
        self,
        method: str,
        path: str,
        *,
        body: bytes = b"",
        headers: dict[str, str] | None = None,
        timeout: float,
    ) -> Response:
        """Send one request that loads or unloads a model, beside which invocations are answered."""
        with self.connections.lane() as lane:
            request = (method, path, body, headers)
            return self._exchange(lane, request, timeout, partial(self.connections.sent, lane))

    def _exchange(
        self,
        connection: http.client.HTTPConnection,
        request: tuple[str, str, bytes, dict[str, str] | None],
        timeout: float,
        sent: Callable[[], None] = lambda: None,
    ) -> Response:
        method, path, body, headers = request
        connection.sock.settimeout(timeout)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            sent()
            answer = connection.getresponse()
            body = answer.read(MOST_BYTES + 1)
            if len(body) > MOST_BYTES:
                raise ConnectionError(f"the container answered with more than {MOST_BYTES} bytes")
            return Response(answer.status, dict(answer.getheaders()), body)
        except http.client.HTTPException as error:
            raise ConnectionError(f"the container broke off: {error!r}") from error

    def stop(self) -> None:
        """End the server; return when nothing of it is left, on every thread that calls it."""
        with self._stopping:
            with self._lock:
                folder, self._folder = self._folder, -1
            if folder == -1:
                return
            self.connections.close()  # Triton's own routes end once nobody is connected
            self._end_process()
            with suppress(FileNotFoundError):
                os.unlink(SOCKET, dir_fd=folder)
            os.close(folder)

    def connect(self) -> socket.socket:
        """Return a socket that is connected to the server. Raises `OSError` when that is gone.

        The broker's socket is named relative to an open folder: a full path may have 107 bytes.
        """
        folder = self._open_folder()
        try:
            with socket.socket(socket.AF_UNIX) as asking:
                asking.settimeout(BROKER_SECONDS)
                asking.connect(f"/proc/self/fd/{folder}/{SOCKET}")
                _, descriptors, _, _ = socket.recv_fds(asking, 1, 1)
        finally:
            os.close(folder)
        if not descriptors:
            raise ConnectionError("the container has ended")
        made = socket.socket(fileno=descriptors[0])
        try:
            made.connect(self._address)
            made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        except OSError:
            made.close()
            raise
        return made

    def _listener(self) -> socket.socket:
        """Return the broker's socket, which is made here: a sandbox has no folder to write to."""
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(f"/proc/self/fd/{self._folder}/{SOCKET}")
        listener.listen(WAITING)
        return listener

    def _open_folder(self) -> int:
        """Return a descriptor of the folder that is the caller's, whenever `stop` is called."""
        with self._lock:
            if self._folder == -1:
                raise ConnectionError("the container was stopped")
            return os.dup(self._folder)

    def _end_process(self) -> None:
        if self._process.stdin:
            self._process.stdin.close()
        try:
            self._process.wait(timeout=broker.EXIT_SECONDS + 5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _tail(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join(lines[-15:])


def _programs(installation: TritonInstallation, backends: Path) -> set[Path]:
    """Return the folders of the programs and packages that a server needs.

    Packages may be installed while it runs, for a stand-in: their folder must be there before.
    """
    with suppress(OSError):  # a home that is read-only has no packages of stand-ins
        CACHE.mkdir(parents=True, exist_ok=True)
    python = installation.model_python
    libraries = {installation.own_python.library_path.parent, python.library_path.parent}
    prefixes = {Path(sys.prefix), Path(sys.base_prefix), *sandbox.links(python.program)}
    return {*prefixes, *libraries, installation.root.parents[1], backends, CACHE}
