"""The shell of a build: one process a command, and what commands leave to the next."""

import os
import shlex
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from local_sagemaker.prerequisites import search_path


@dataclass
class Shell:
    """What the commands of all phases share, as buildspec version 0.2 has it.

    Each command is a shell of its own, so that it has a status and can be ended; on leaving, it
    writes its exported variables, PWD among them, to `file`, and the next one starts with them.
    What a command leaves in the background ends with it.
    """

    file: Path
    log: Path
    environment: dict[str, str]

    def run(self, command: str, must_end: Callable[[], bool]) -> int:
        """Return the exit status of a command, which is killed as soon as it must end.

        What it prints goes to the log.
        """
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
        try:
            while not _has_ended(process) and not must_end():
                pass
        finally:  # before it is reaped: until then, the number of its group is not another's
            os.killpg(process.pid, signal.SIGKILL)
            status = process.wait()
        self._take_over()
        return status

    def _take_over(self) -> None:
        """Take the variables of the last command; one that was killed left none."""
        content = self.file.read_bytes() if self.file.exists() else b""
        variables = dict(os.fsdecode(line).split("=", 1) for line in content.split(b"\0") if line)
        if "PWD" in variables:
            self.environment = variables
        self.file.unlink(missing_ok=True)

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


def _has_ended(process: "subprocess.Popen[bytes]") -> bool:
    """Whether a process has ended, which is not reaped."""
    return bool(os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT))
