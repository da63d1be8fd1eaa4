"""Paths and process state in the folder of a local SageMaker."""

import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from local_sagemaker.errors import LocalSageMakerError

_CLOCK_TOLERANCE_SECONDS = 2.0
"""Tolerance between process start times and file times: btime has a resolution of one second."""


@dataclass(frozen=True)
class RunningSageMaker:
    """A running local SageMaker. `python` is the Python version that runs models."""

    pid: int
    port: int
    python: str

    @property
    def url(self) -> str:
        """The value of `AWS_ENDPOINT_URL` for AWS clients."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def page(self) -> str:
        """The URL of the dashboard."""
        return f"{self.url}/_local_sagemaker/"

    def is_alive(self) -> bool:
        """Return whether the process still runs; another user's process is a different one."""
        try:
            os.kill(self.pid, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def start_time(self) -> float:
        """Return the start time of the process in Unix seconds. Raise `OSError` if it has ended.

        Source: proc(5): starttime is field 22, in ticks since btime. The second field, a name in
        parentheses, may contain spaces.
        """
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        boot = re.search(r"^btime (\d+)", Path("/proc/stat").read_text(), re.M)
        return int(boot[1] if boot else 0) + int(fields[19]) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Folder:
    """Paths below the local SageMaker's folder."""

    root: Path

    @classmethod
    def default(cls) -> "Folder":
        """Return `.local_sagemaker` in the working directory."""
        return cls(Path(".local_sagemaker").resolve())

    @property
    def lock(self) -> Path:
        """The lock file of `up`, outside the folder because `up` deletes the folder."""
        return self.root.with_name(f"{self.root.name}.lock")

    @property
    def log(self) -> Path:
        """The log of the emulator."""
        return self.root / "emulator.log"

    @property
    def calls(self) -> Path:
        """The recorded calls of identified callers, as JSON lines."""
        return self.root / "calls.jsonl"

    @property
    def builds(self) -> Path:
        """One folder per CodeBuild build, with sources and `build.log`."""
        return self.root / "builds"

    @property
    def instances(self) -> Path:
        """One folder per endpoint instance, with `triton.log` and downloaded models."""
        return self.root / "instances"

    @property
    def backends(self) -> Path:
        """Triton's backend directory."""
        return self.root / "backends"

    @property
    def objects(self) -> Path:
        """S3's objects as files, by account, bucket and key."""
        return self.root / "objects"

    @property
    def temporary(self) -> Path:
        """TMPDIR of ministack, which does not delete the code of Lambda functions there."""
        return self.root / "tmp"

    @property
    def cdk_home(self) -> Path:
        """CDK_HOME, where the cdk CLI caches the account of credentials."""
        return self.root / "cdk_home"

    @property
    def _state(self) -> Path:
        return self.root / "running.json"

    def running(self) -> RunningSageMaker | None:
        """Return the local SageMaker that runs on this folder, or None.

        A process that started after the state file was written is a different process with the same
        process id.
        """
        try:
            running = RunningSageMaker(**json.loads(self._state.read_text()))
            written = self._state.stat().st_mtime
            is_same_process = (
                running.is_alive() and running.start_time() <= written + _CLOCK_TOLERANCE_SECONDS
            )
        except (OSError, ValueError, TypeError):  # missing or incomplete state file
            return None
        return running if is_same_process else None

    def require_running(self) -> RunningSageMaker:
        """Return the local SageMaker on this folder. Raises `LocalSageMakerError` if none runs."""
        running = self.running()
        if running is None:
            raise LocalSageMakerError("the local SageMaker is not running: run `up` first")
        return running

    def write_state(self, running: RunningSageMaker) -> None:
        """Write the state file atomically."""
        new = self._state.with_suffix(".new")
        new.write_text(json.dumps(asdict(running)))
        new.replace(self._state)

    def delete_state(self) -> None:
        """Delete the state file."""
        self._state.unlink(missing_ok=True)
