"""The main process of the local SageMaker, with ministack as a child process."""

import asyncio
import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import uvicorn
import uvloop

from local_sagemaker.environment import client_environment
from local_sagemaker.folder import Folder, RunningSageMaker
from local_sagemaker.front.application import Application
from local_sagemaker.front.calls import Calls
from local_sagemaker.front.http_server import RequestGuard, http_server
from local_sagemaker.front.ministack import Ministack
from local_sagemaker.front.services import Services
from local_sagemaker.prerequisites import find_triton

MAX_CONCURRENT_OPERATIONS = 64
STOP_SECONDS = 10
PR_SET_PDEATHSIG = 1


def run(folder: Folder, port: int, parent: int | None = None) -> None:
    """Serve on loopback until SIGTERM, then stop all child processes.

    With `parent`, the process id of the parent process, the end of that process is a SIGTERM.
    """
    if parent is not None:
        _end_with(parent)
    triton = find_triton()
    running = RunningSageMaker(pid=os.getpid(), port=port, python=triton.model_python.version)
    os.environ.update(client_environment(running, folder))
    server = http_server(None, port=port)

    def request_exit(*_: object) -> None:
        server.should_exit = True

    for signal_number in (signal.SIGTERM, signal.SIGINT):
        # uvicorn's own handlers exist only while it serves, and it raises handled signals again.
        signal.signal(signal_number, request_exit)
    emulator, url = _start_emulator(folder, port)
    try:
        calls, ministack = Calls(folder.calls), Ministack(url)
        services = Services(folder, triton, ministack=url, calls=calls)
        application = Application(
            services.control_planes,
            services.runtime,
            ministack,
            calls,
            services.ask,
            services.saver.add_call,
        )
        server.config.app = RequestGuard(application, services.dashboard)
        threading.Thread(target=lambda: request_exit(emulator.wait()), daemon=True).start()
        try:
            uvloop.run(_serve(server, ministack))
        finally:
            services.stop()
    finally:
        status = emulator.poll()
        _stop_emulator(emulator)
        if status is not None:
            print(f"error: {_end_of_emulator(status)}", file=sys.stderr)  # noqa: T201


def _end_with(parent: int) -> None:
    """Get a SIGTERM when the thread that started this process ends, also by SIGKILL or a crash."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent:  # it ended before the call
        sys.exit(f"process {parent}, which started the local SageMaker, has ended")


async def _serve(server: uvicorn.Server, ministack: Ministack) -> None:
    # Operations block; asyncio's default executor has only 6 threads on 2 cores.
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(MAX_CONCURRENT_OPERATIONS))
    await server.serve()
    await ministack.close()


def _start_emulator(folder: Folder, port: int) -> tuple["subprocess.Popen[bytes]", str]:
    """Start ministack on a free port; return the process, which ends with its input, and the
    URL."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "local_sagemaker.emulator", str(folder.root)),
                *(str(port), str(listener.fileno())),
            ],
            stdin=subprocess.PIPE,
            pass_fds=[listener.fileno()],
            process_group=0,  # with its processes of Lambda functions
        )
        return process, f"http://127.0.0.1:{listener.getsockname()[1]}"


def _end_of_emulator(status: int) -> str:
    how = f"ended with status {status}"
    if status < 0:
        how = f"was ended by signal {-status} ({signal.strsignal(-status)})"
    if status == -signal.SIGKILL:
        how += ", which the kernel also sends when memory is used up"
    return f"the local SageMaker stopped, because its process of the other AWS services {how}"


def _stop_emulator(emulator: "subprocess.Popen[bytes]") -> None:
    if emulator.stdin:
        with suppress(OSError):
            emulator.stdin.close()
    with suppress(subprocess.TimeoutExpired):
        emulator.wait(STOP_SECONDS)
    with suppress(ProcessLookupError):  # Lambda functions may still run
        os.killpg(emulator.pid, signal.SIGKILL)
    emulator.wait()


if __name__ == "__main__":
    run(Folder(Path(sys.argv[1])), int(sys.argv[2]), *map(int, sys.argv[3:]))
