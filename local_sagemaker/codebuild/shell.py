"""Execution of a phase's command."""

import os
import signal
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

from local_sagemaker.prerequisites import search_path


def run_command(
    command: str,
    *,
    folder: Path,
    environment: Mapping[str, str],
    log: Path,
    must_end: Callable[[], bool],
) -> int:
    """Run a command, append its output to the log, and return the exit status.

    The command is killed when `must_end`, which is polled, returns True. Background processes of
    the command are killed when the command ends.
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
    finally:  # before `wait` frees the process group id for reuse
        os.killpg(process.pid, signal.SIGKILL)
        status = process.wait()
    return status


def host_environment() -> dict[str, str]:
    """Return the variables that a command inherits: pip, locale, and a PATH with this Python."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name in ("HOME", "LANG", "TMPDIR", "PYTHONPYCACHEPREFIX")
        or name.startswith(("PIP_", "LC_", "SSL_"))
    }
    return {
        **inherited,
        "PATH": search_path(),
        "PIP_NO_DEPS": "1",  # lock files are complete, and resolving dependencies takes seconds
        "PYTHONDONTWRITEBYTECODE": "1",  # sources of a build are in a temporary folder
    }


def _has_ended(process: "subprocess.Popen[bytes]") -> bool:
    """Return whether a process has ended, without reaping it."""
    return bool(os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT))
