"""Start and stop the local SageMaker."""

import errno
import fcntl
import json
import os
import shutil
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

from local_sagemaker.errors import LocalSageMakerError, printable
from local_sagemaker.folder import Folder, RunningSageMaker
from local_sagemaker.kept_state import KeptState
from local_sagemaker.prerequisites import find_triton

START_SECONDS = 300  # for a busy machine; a failed start ends the process earlier
STOP_SECONDS = 60
POLL_SECONDS = 0.5
MMAP_THRESHOLD_BYTES = 1 << 20
"""Memory blocks of at least this size are returned to the system when freed. By default glibc
raises this threshold to the largest freed block, up to 32 MiB (mallopt(3), M_MMAP_THRESHOLD): after
60 captured bodies of up to 6 MB, 160 MiB were not returned."""

LOOPBACK_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""URL opener for this machine. It ignores the environment's proxy, which cannot reach it."""


def up(
    folder: Folder, *, port: int | None = None, keep: bool = False, ends_with_caller: bool = False
) -> RunningSageMaker:
    """Start the local SageMaker on loopback; return when it answers requests.

    Without `port`, a free port is used. With `keep`, the state of the last run on this folder is
    restored, and its endpoints are in service or have failed. With `ends_with_caller`, it ends with
    the calling thread, also if that is killed; by default it runs until `down`. Raise
    `LocalSageMakerError` if a local SageMaker already runs or starts on this folder, the port is in
    use, the state is damaged, or a requirement of Triton is missing; then no process is running.
    """
    with _up_lock(folder):
        return _up(folder, port, keep, parent=os.getpid() if ends_with_caller else None)


def _up(folder: Folder, port: int | None, keep: bool, parent: int | None) -> RunningSageMaker:
    running = folder.running()
    if running:
        raise LocalSageMakerError(
            f"the local SageMaker is already running: {running.url} (stop it with `down`)"
        )
    if port is not None and not 1 <= port <= 65535:
        raise LocalSageMakerError(
            f"{port} is not a valid port: use 1 to 65535, or leave --port out to get a free one"
        )
    if port is not None and not _is_free(port):
        raise LocalSageMakerError(f"port {port} is in use: leave --port out to get a free one")
    kept = KeptState.read(folder) if keep else None
    installation = find_triton()
    for warning in filter(None, (installation.isolation_warning, installation.python_warning)):
        print(f"warning: {warning}", file=sys.stderr)  # noqa: T201
    if keep:
        print(kept.message if kept else "no state was saved: starting empty", file=sys.stderr)  # noqa: T201
    if port is None and kept and _is_free(kept.port):
        port = kept.port  # for shells with its environment
    port = port or _free_port()
    python = installation.model_python.version
    with _storage_errors(folder):
        _make_empty(folder, except_for=(folder.kept, folder.objects) if kept else ())
        pid = _spawn(folder, port, parent)
        running = RunningSageMaker(pid=pid, port=port, python=python)
        try:
            folder.write_running(running)
            _wait_until_healthy(running, folder)
            if kept:
                _wait_for_endpoints(running, folder)
        except BaseException:
            _stop(running)
            folder.delete_running()
            raise
    return running


def down(folder: Folder) -> bool:
    """Stop the local SageMaker and its child processes; return False if none was running."""
    running = folder.running()
    if running is None:
        folder.delete_running()
        return False
    _stop(running)
    folder.delete_running()
    return True


def _stop(running: RunningSageMaker) -> None:
    deadline = time.monotonic() + STOP_SECONDS
    with suppress(ProcessLookupError):  # it has ended
        os.kill(running.pid, signal.SIGTERM)
        while _is_running(running):
            if time.monotonic() > deadline:
                os.kill(running.pid, signal.SIGKILL)
            time.sleep(0.05)


@contextmanager
def while_running(folder: Folder, running: RunningSageMaker) -> Iterator[None]:
    """Interrupt the `with` block and raise `LocalSageMakerError` if the local SageMaker ends.

    Otherwise the cdk CLI would retry for minutes without output. Call it on the main thread.
    """
    done, has_exited, interrupted = threading.Event(), threading.Event(), threading.Event()

    def interrupt(number: int, frame: FrameType | None) -> None:
        interrupted.set()
        if done.is_set() and has_exited.is_set():
            return  # the watcher's interrupt, after the end of the block
        if callable(handler):
            handler(number, frame)
        raise KeyboardInterrupt

    def watch() -> None:
        while not done.wait(POLL_SECONDS):
            if has_exited.is_set() or not _is_running(running):
                has_exited.set()
                if interrupted.is_set():
                    return
                # Repeated: a signal just before a blocking system call does not interrupt it.
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    handler = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, interrupt)
    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield
    except BaseException:
        if not has_exited.is_set():
            raise
    finally:
        done.set()
        watcher.join()
        signal.signal(signal.SIGINT, handler)
    if has_exited.is_set():
        raise folder.ended()


@contextmanager
def _up_lock(folder: Folder) -> Iterator[None]:
    """Hold the lock of `up` on this folder; the kernel releases it if the process ends."""
    try:
        folder.lock.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder.lock, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        reason = "it is a link" if error.errno == errno.ELOOP else error.strerror
        raise LocalSageMakerError(
            f"{folder.lock} cannot be opened: {reason}: delete it, or use another folder"
        ) from None
    with os.fdopen(descriptor, "w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LocalSageMakerError(
                "another `up` is starting the local SageMaker: wait for it"
            ) from None
        yield


def _make_empty(folder: Folder, *, except_for: Collection[Path]) -> None:
    """Delete what the last run has left; other users must not read the state of this one."""
    folder.root.mkdir(mode=0o700, exist_ok=True)
    folder.root.chmod(0o700)
    for path in folder.root.iterdir():
        if path.is_symlink() or not path.is_dir():
            path.unlink()
        elif path not in except_for:
            shutil.rmtree(path, ignore_errors=True)  # fails for some files of models
    for path in (folder.cdk_home, folder.kept, folder.temporary):
        path.mkdir(exist_ok=True)


@contextmanager
def _storage_errors(folder: Folder) -> Iterator[None]:
    """Raise `LocalSageMakerError` if the folder cannot be written, for example on a full disk."""
    try:
        yield
    except OSError as error:
        raise LocalSageMakerError(
            f"{folder.root} cannot be written: {error.strerror}: free space, delete the folder, or "
            "run `up` elsewhere"
        ) from None


def _is_running(running: RunningSageMaker) -> bool:
    with suppress(ChildProcessError):
        os.waitpid(running.pid, os.WNOHANG)  # reap the process if it is a child
    return running.is_alive()


def _spawn(folder: Folder, port: int, parent: int | None) -> int:
    """Start the server in a new session, so that Ctrl-C does not reach it; return its PID.

    It does not get the user's AWS credentials: functions would inherit them.
    """
    arguments = [*folder.server_arguments(port), *([str(parent)] if parent else [])]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    with os.fdopen(os.open(folder.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as log:
        return os.posix_spawn(
            sys.executable,
            [sys.executable, *arguments],
            {
                **inherited,
                "MALLOC_MMAP_THRESHOLD_": str(MMAP_THRESHOLD_BYTES),
                "TMPDIR": str(folder.temporary),
            },
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, log.fileno(), 1),
                (os.POSIX_SPAWN_DUP2, log.fileno(), 2),
            ],
            setsid=True,
        )


def _wait_until_healthy(running: RunningSageMaker, folder: Folder) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and _is_running(running):
        try:
            with LOOPBACK_OPENER.open(f"{running.url}/_ministack/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    tail = "\n".join(folder.log.read_text(errors="replace").splitlines()[-10:])
    tail = tail or "it is empty: is the disk full?"
    raise LocalSageMakerError(
        f"the local SageMaker did not start; its log, {folder.log}, ends:\n{tail}"
    )


def _wait_for_endpoints(running: RunningSageMaker, folder: Folder) -> None:
    """Wait until the restored endpoints and components are in service, or warn of failed ones."""
    with suppress(OSError):
        while True:
            with LOOPBACK_OPENER.open(f"{running.page}state") as response:
                endpoints = json.load(response)["endpoints"]
            variants = [variant for endpoint in endpoints for variant in endpoint["variants"]]
            components = [each for variant in variants for each in variant["components"]]
            if all(each["status"] != "Creating" for each in endpoints + components):
                break
            time.sleep(0.05)
        for each in endpoints + components:
            if each["status"] == "Failed":
                reason = printable(each["failure"])
                print(f"warning: {each['name']} is Failed: {reason}", file=sys.stderr)  # noqa: T201
        return
    raise folder.ended()


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port
