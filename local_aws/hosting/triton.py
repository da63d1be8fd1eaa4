"""One tritonserver process in SageMaker mode, reached through a Unix socket."""

import http.client
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

from local_aws.errors import LocalAwsError
from local_aws.hosting import capacity, model_environment, mounts, relay
from local_aws.hosting.serve import SAGEMAKER_PORT
from local_aws.prerequisites import UNSHARE, TritonInstallation, search_path

SOCKET = "triton.sock"


@dataclass(frozen=True)
class Response:
    """What the container answered."""

    status: int
    headers: dict[str, str]
    body: bytes


class _UnixConnection(http.client.HTTPConnection):
    """HTTP through a socket named relative to an open folder: a full path may have 107 bytes.

    `open_folder` returns a file descriptor to close.
    """

    def __init__(self, open_folder: Callable[[], int]) -> None:
        super().__init__("localhost")
        self._open_folder = open_folder

    def connect(self) -> None:
        folder = self._open_folder()
        try:
            self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            self.sock.settimeout(self.timeout)
            self.sock.connect(f"/proc/self/fd/{folder}/{SOCKET}")
        finally:
            os.close(folder)


class Triton:
    """A running server. `arguments` are tritonserver's; `environment` is the container's.

    `folder` is the instance's: its log, which begins with the lines `said`, and its socket are
    there. `models` are the folder with the models and where the server sees it. `ping` is the path
    at which the server says whether it is healthy.

    Requests may come from several threads; connections are kept and used again.
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
        self._folder = os.open(folder, os.O_PATH | os.O_DIRECTORY)  # -1 once stopped
        self._idle: SimpleQueue[_UnixConnection] = SimpleQueue()
        self._lock, self._stopping = threading.Lock(), threading.Lock()
        server = [str(installation.binary), f"--backend-directory={backends}", *arguments]
        relayed = [sys.executable, relay.__file__, SOCKET, str(SAGEMAKER_PORT), self.log.name]
        isolation = UNSHARE if installation.isolated else ()
        if models and models[0] != models[1]:
            shown = [sys.executable, "-IS", mounts.__file__, *map(str, models)]
            isolation = (*isolation, *shown)
        with self.log.open("ab") as log:
            log.writelines(f"{line}\n".encode() for line in said)
            log.flush()
            self._process = subprocess.Popen(
                [*isolation, *relayed, *server],
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
        """Return when /ping answers 200. Raises `LocalAwsError` with the end of the log."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline and self._process.poll() is None:
            try:
                if self.request("GET", self._ping, timeout=5).status == 200:
                    return
            except OSError:
                pass
            time.sleep(0.05)
        raise LocalAwsError(
            f"The container did not pass the ping health check. Log: {self.log}\n{self._tail()}"
        )

    def wait(self) -> None:
        """Return when the server has ended, however it did."""
        self._process.wait()

    def resident_bytes(self) -> int:
        """Return the memory of the server and all that it started, which share a session."""
        return capacity.resident_bytes(self._process.pid)

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
        try:
            connection = self._idle.get_nowait()
        except Empty:
            connection = _UnixConnection(self._open_folder)
        connection.timeout = timeout
        if connection.sock:
            connection.sock.settimeout(timeout)
        try:
            connection.request(method, path, body=body, headers=headers or {})
            answer = connection.getresponse()
            response = Response(answer.status, dict(answer.getheaders()), answer.read())
        except http.client.HTTPException as error:
            connection.close()
            raise ConnectionError(f"the container broke off: {error!r}") from error
        except OSError:
            connection.close()
            raise
        self._keep(connection)
        return response

    def stop(self) -> None:
        """End the server; return when nothing of it is left, on every thread that calls it."""
        with self._stopping:
            with self._lock:
                folder, self._folder = self._folder, -1
            if folder == -1:
                return
            while not self._idle.empty():  # Triton's own routes end once nobody is connected
                self._idle.get().close()
            self._end_process()
            with suppress(FileNotFoundError):
                os.unlink(SOCKET, dir_fd=folder)
            os.close(folder)

    def _open_folder(self) -> int:
        """Return a descriptor of the folder that is the caller's, whenever `stop` is called."""
        with self._lock:
            if self._folder == -1:
                raise ConnectionError("the container was stopped")
            return os.dup(self._folder)

    def _keep(self, connection: _UnixConnection) -> None:
        """Keep a connection for the next request, unless there will be none."""
        with self._lock:
            if self._folder == -1:
                connection.close()
            else:
                self._idle.put(connection)

    def _end_process(self) -> None:
        if self._process.stdin:
            self._process.stdin.close()
        try:
            self._process.wait(timeout=relay.EXIT_SECONDS + 5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _tail(self) -> str:
        lines = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return "\n".join(lines[-15:])
