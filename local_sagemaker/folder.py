"""The one folder of a local SageMaker: state, logs, builds, downloaded models."""

import json
import os
import re
from dataclasses import asdict, dataclass
from pathlib import Path

from local_sagemaker.errors import LocalSageMakerError

_CLOCK_SECONDS = 2.0
"""How far apart the clocks of processes and files may be: btime is in whole seconds."""


@dataclass(frozen=True)
class RunningSageMaker:
    """A running local SageMaker: its process, where it listens, and the Python of its models.

    `python` is a version such as 3.10.
    """

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
        """Whether the process still runs; a number that another user's has now is not ours."""
        try:
            os.kill(self.pid, 0)
        except (ProcessLookupError, PermissionError):
            return False
        return True

    def began(self) -> float:
        """Return when the process was started, in Unix seconds. Raises `OSError` if it has ended.

        Source: proc(5): starttime, the 22nd value, in ticks since btime. A name may have spaces.
        """
        values = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        boot = re.search(r"^btime (\d+)", Path("/proc/stat").read_text(), re.M)
        return int(boot[1] if boot else 0) + int(values[19]) / os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Folder:
    """Paths below the local SageMaker's folder."""

    root: Path

    @classmethod
    def default(cls) -> "Folder":
        """`.local_sagemaker` in the working directory, which git ignores."""
        return cls(Path(".local_sagemaker").resolve())

    @property
    def lock(self) -> Path:
        """The file that a start locks: beside the folder, which is deleted meanwhile."""
        return self.root.with_name(f"{self.root.name}.lock")

    @property
    def log(self) -> Path:
        """The log of the emulator."""
        return self.root / "emulator.log"

    @property
    def calls(self) -> Path:
        """The recorded calls of callers that identify themselves."""
        return self.root / "calls.jsonl"

    @property
    def builds(self) -> Path:
        """One folder a CodeBuild build: sources, and `build.log`."""
        return self.root / "builds"

    @property
    def instances(self) -> Path:
        """One folder an endpoint instance: `triton.log` and downloaded models."""
        return self.root / "instances"

    @property
    def backends(self) -> Path:
        """Triton's backend directory."""
        return self.root / "backends"

    @property
    def objects(self) -> Path:
        """S3's objects, as files: account, bucket, key."""
        return self.root / "objects"

    @property
    def temporary(self) -> Path:
        """TMPDIR of the emulator, which leaves the code of Lambda functions there."""
        return self.root / "tmp"

    @property
    def cdk_home(self) -> Path:
        """CDK_HOME: the CLI caches there which account credentials belong to."""
        return self.root / "cdk_home"

    @property
    def _state(self) -> Path:
        return self.root / "running.json"

    def running(self) -> RunningSageMaker | None:
        """Return the local SageMaker that runs on this folder, if one does.

        A process that is younger than what was written down of it is another one, which has its
        number since it was killed, or since the machine was started again.
        """
        try:
            running = RunningSageMaker(**json.loads(self._state.read_text()))
            written = self._state.stat().st_mtime
            ours = running.is_alive() and running.began() <= written + _CLOCK_SECONDS
        except (OSError, ValueError, TypeError):  # there is none, or half a one
            return None
        return running if ours else None

    def found_running(self) -> RunningSageMaker:
        """Return the local SageMaker on this folder. Raises `LocalSageMakerError` if none runs."""
        running = self.running()
        if running is None:
            raise LocalSageMakerError("no local SageMaker is running: run up first")
        return running

    def remember(self, running: RunningSageMaker) -> None:
        """Write down what was started; who reads meanwhile finds all of it, or what was before."""
        written = self._state.with_suffix(".new")
        written.write_text(json.dumps(asdict(running)))
        written.replace(self._state)

    def forget(self) -> None:
        """The opposite of `remember`."""
        self._state.unlink(missing_ok=True)
