"""The command of a phase."""

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
    """Return the exit status of a command, which is killed as soon as it must end.

    What it prints goes to the log. What it leaves in the background ends with it.
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
    finally:  # before it is reaped: until then, the number of its group is not another's
        os.killpg(process.pid, signal.SIGKILL)
        status = process.wait()
    return status


def host_environment() -> dict[str, str]:
    """Variables of this machine that a command gets: pip's and the locale's, and this Python."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in ("HOME", "LANG", "TMPDIR") or name.startswith(("PIP_", "LC_", "SSL_"))
    }
    return {
        **kept,
        "PATH": search_path(),
        "PIP_NO_DEPS": "1",  # a lock names every package: to resolve them anew takes pip seconds
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _has_ended(process: "subprocess.Popen[bytes]") -> bool:
    """Whether a process has ended, which is not reaped."""
    return bool(os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT))
