"""Start and stop the local SageMaker."""

import fcntl
import os
import shutil
import signal
import socket
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.folder import Folder, RunningSageMaker
from local_sagemaker.prerequisites import find_triton

START_SECONDS = 300  # where it fails to start, its process ends: only a busy machine takes long
STOP_SECONDS = 60
LOOK_SECONDS = 0.5
GIVEN_BACK_BYTES = 1 << 20
"""Blocks of so many are given back at once. glibc keeps what is smaller than the largest block that
was ever freed, up to 32 MiB, unless its variable says how much (mallopt(3), M_MMAP_THRESHOLD): 60
captured bodies of up to 6 MB left 160 MiB."""

LOOPBACK = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""Opens URLs of this machine, which a proxy named in the environment cannot reach."""


def up(folder: Folder, *, port: int | None = None) -> RunningSageMaker:
    """Start the local SageMaker on loopback and return it when it answers.

    `port` is free to choose; without one, a free port is taken. Raises `LocalSageMakerError` when
    one runs already on this folder or is being started, the port is taken, or something that Triton
    needs is missing; nothing is left running then.
    """
    with _alone(folder):
        return _up(folder, port)


def _up(folder: Folder, port: int | None) -> RunningSageMaker:
    running = folder.running()
    if running:
        raise LocalSageMakerError(
            f"the local SageMaker is up already: {running.url} (to stop it: run down)"
        )
    if port is not None and not 1 <= port <= 65535:
        raise LocalSageMakerError(
            f"{port} is not a valid port: write 1 to 65535, or leave --port out to get a free one"
        )
    if port is not None and not _is_free(port):
        raise LocalSageMakerError(f"port {port} is taken: leave --port out to get a free one")
    installation = find_triton()
    for shortcoming in filter(None, (installation.exposed, installation.other_python)):
        print(f"warning: {shortcoming}", file=sys.stderr)  # noqa: T201
    shutil.rmtree(folder.root, ignore_errors=True)
    for path in (folder.cdk_home, folder.temporary):
        path.mkdir(parents=True)
    port = port or _free_port()
    python = installation.model_python.version
    running = RunningSageMaker(pid=_spawn(folder, port), port=port, python=python)
    folder.remember(running)
    try:
        _wait_until_healthy(running, folder)
    except BaseException:
        down(folder)
        raise
    return running


def down(folder: Folder) -> bool:
    """Stop the local SageMaker and all that it started; return False when none was running."""
    running = folder.running()
    if running is None:
        folder.forget()
        return False
    os.kill(running.pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while _still_runs(running):
        if time.monotonic() > deadline:
            os.kill(running.pid, signal.SIGKILL)
        time.sleep(0.05)
    with suppress(ProcessLookupError):  # ministack may leave workers of Lambda functions
        os.killpg(running.pid, signal.SIGKILL)
    folder.forget()
    return True


@contextmanager
def while_running(folder: Folder, running: RunningSageMaker) -> Iterator[None]:
    """Interrupt the block, as Ctrl-C does, and raise `LocalSageMakerError` when the process ends.

    Without it, the cdk CLI would retry for minutes without output. Call it on the main thread.
    """
    done, gone, interrupted = threading.Event(), threading.Event(), threading.Event()

    def interrupt(number: int, frame: FrameType | None) -> None:
        interrupted.set()
        if callable(handler):
            handler(number, frame)
        raise KeyboardInterrupt

    def watch() -> None:
        while not done.wait(LOOK_SECONDS):
            if gone.is_set() or not _still_runs(running):
                gone.set()
                if interrupted.is_set():
                    return
                # Again, where the signal came just before a system call that it then did not end.
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    handler = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, interrupt)
    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield
    except BaseException:
        if not gone.is_set():
            raise
    finally:
        done.set()
        watching.join()
        signal.signal(signal.SIGINT, handler)
    if gone.is_set():
        raise LocalSageMakerError(
            f"the local SageMaker has ended: read {folder.log}; `up` starts a new one, with "
            "nothing deployed"
        )


@contextmanager
def _alone(folder: Folder) -> Iterator[None]:
    """Keep others from starting one on this folder; the lock ends with the process that has it."""
    folder.lock.parent.mkdir(parents=True, exist_ok=True)
    with folder.lock.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise LocalSageMakerError(
                "the local SageMaker is being started by another up: wait for it"
            ) from None
        yield


def _still_runs(running: RunningSageMaker) -> bool:
    with suppress(ChildProcessError):
        os.waitpid(running.pid, os.WNOHANG)  # where it is our own child, it must be reaped
    return running.is_alive()


def _spawn(folder: Folder, port: int) -> int:
    """Start the emulator in a session of its own, where it outlives this process."""
    log = folder.log.open("wb")
    with log:
        return os.posix_spawn(
            sys.executable,
            [sys.executable, "-m", "local_sagemaker.front.server", str(folder.root), str(port)],
            {
                **os.environ,
                "MALLOC_MMAP_THRESHOLD_": str(GIVEN_BACK_BYTES),
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
    while time.monotonic() < deadline and _still_runs(running):
        try:
            with LOOPBACK.open(f"{running.url}/_ministack/health", timeout=5):
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
    tail = "\n".join(folder.log.read_text(errors="replace").splitlines()[-10:])
    raise LocalSageMakerError(
        f"the local SageMaker did not start; its log, {folder.log}, ends:\n{tail}"
    )


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
