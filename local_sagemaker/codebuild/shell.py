"""The shell of a build: one process a command, and what commands leave to the next."""

import os
import shlex
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

from local_sagemaker.prerequisites import search_path

GRACE_SECONDS = 5
POLL_SECONDS = 0.01


@dataclass
class Shell:
    """What the commands of all phases share, as buildspec version 0.2 has it.

    Each command is a shell of its own, so that it has a status and can be ended; on leaving, it
    writes its exported variables, PWD among them, to `file`, and the next one starts with them.

    One thread starts, ends and reaps all processes. No command is reaped before `close`: until
    then the number of its process group cannot become another's.
    """

    file: Path
    log: Path
    environment: dict[str, str]
    _processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self, command: str) -> subprocess.Popen[bytes]:
        """Start a command; what it prints goes to the log."""
        with self.log.open("ab") as log:
            process = subprocess.Popen(
                ["sh", "-c", self._script(command)],
                cwd=self.environment["PWD"],
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self._processes.append(process)
        return process

    def take_over(self) -> None:
        """Take what the last command left; one that was killed left nothing."""
        content = self.file.read_bytes() if self.file.exists() else b""
        variables = dict(os.fsdecode(it).split("=", 1) for it in content.split(b"\0") if it)
        if "PWD" in variables:
            self.environment = variables
        self.file.unlink(missing_ok=True)

    def close(self) -> None:
        """End what commands left in the background, and reap all."""
        for process in self._processes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    def _script(self, command: str) -> str:
        save = f"command -p env -0 > {shlex.quote(str(self.file))}"
        return f"trap {shlex.quote(save)} EXIT\n{command}"


def host_environment() -> dict[str, str]:
    """What a command sees of this machine: pip's and the locale's settings, and this Python."""
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


def exit_status(process: subprocess.Popen[bytes]) -> int | None:
    """Return a process's exit status, negative for a signal, without reaping it."""
    ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def terminate(process: subprocess.Popen[bytes]) -> None:
    """Ask a process and all that it started to end, and give them some time for it."""
    os.killpg(process.pid, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_SECONDS
    while exit_status(process) is None and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
