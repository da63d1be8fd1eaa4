"""Execution of a phase's command."""

import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from local_sagemaker.prerequisites import search_path


def run(
    command: str,
    *,
    folder: Path,
    environment: Mapping[str, str],
    log: Path,
    must_end: Callable[[], bool],
) -> int:
    """Run a command with its output in the log; return the exit status.

    `must_end` is polled; when it returns True, the command is killed. Background processes of the
    command are killed when it ends.
    """
    with log.open("ab") as output:
        process = subprocess.Popen(
            ["sh", "-c", command],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        while not _has_ended(process) and not must_end():
            pass
    finally:  # kill before reaping: until then the process group id cannot be reused
        os.killpg(process.pid, signal.SIGKILL)
        status = process.wait()
    return status


def host_environment() -> dict[str, str]:
    """Return the variables that a command inherits: pip, locale, and a PATH with this Python."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in ("HOME", "LANG", "TMPDIR", "PYTHONPYCACHEPREFIX")
        or name.startswith(("PIP_", "LC_", "SSL_"))
    }
    return {
        **kept,
        "PATH": search_path(),
        "PIP_NO_DEPS": "1",  # requirements are complete lock files; resolving them takes seconds
        "PYTHONDONTWRITEBYTECODE": "1",  # sources of a build are in a temporary folder
    }


def _has_ended(process: "subprocess.Popen[bytes]") -> bool:
    """Return whether a process has ended, without reaping it."""
    return bool(os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT))
