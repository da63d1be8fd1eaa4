"""Paths and process state in the folder of a local SageMaker."""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from local_sagemaker.errors import LocalSageMakerError


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


@dataclass(frozen=True)
class Folder:
    """Paths below the local SageMaker's folder. Raise `LocalSageMakerError` if it is none.

    A link is refused, because `up` would delete and replace the files that it leads to.
    """

    root: Path

    def __post_init__(self) -> None:
        is_link = self.root.is_symlink()
        if is_link or (self.root.exists() and not self.root.is_dir()):
            raise LocalSageMakerError(
                f"{self.root} is a {'link' if is_link else 'file'}: the local SageMaker needs a "
                "folder of this name: delete or rename it"
            )

    @classmethod
    def default(cls) -> "Folder":
        """Return `.local_sagemaker` in the working directory."""
        return cls(Path.cwd() / ".local_sagemaker")

    def server_arguments(self, port: int) -> list[str]:
        """Return the arguments of Python that start the server; they identify its process."""
        return ["-m", "local_sagemaker.front.server", str(self.root), str(port)]

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
    def kept(self) -> Path:
        """What `up --keep` restores, with `objects`: the state, and code of Lambda functions."""
        return self.root / "kept"

    @property
    def kept_state(self) -> Path:
        """The file of the state."""
        return self.kept / "state.json"

    @property
    def kept_end(self) -> Path:
        """A file that exists if the local SageMaker has saved its state before it ended."""
        return self.kept / "ended"

    @property
    def temporary(self) -> Path:
        """TMPDIR of ministack, which does not delete the code of Lambda functions there."""
        return self.root / "tmp"

    @property
    def cdk_home(self) -> Path:
        """CDK_HOME, where the cdk CLI caches the account of credentials."""
        return self.root / "cdk_home"

    @property
    def _running_file(self) -> Path:
        return self.root / "running.json"

    def running(self) -> RunningSageMaker | None:
        """Return the local SageMaker that runs on this folder, or None.

        The file is not trusted: its process must be this user's server of this folder and
        port, by its arguments. Otherwise `down` could end another process.
        """
        try:
            match json.loads(self._running_file.read_text()):
                case {"pid": int(pid), "port": int(port), "python": str(python)}:
                    process = Path("/proc", str(pid))
                    arguments = os.fsdecode((process / "cmdline").read_bytes())
                    is_server = "\0".join(["", *self.server_arguments(port), ""]) in arguments
                    if is_server and process.stat().st_uid == os.getuid():
                        return RunningSageMaker(pid, port, python)
        except (OSError, ValueError, RecursionError):  # no file, no JSON, no such process
            pass
        return None

    def require_running(self) -> RunningSageMaker:
        """Return the local SageMaker on this folder. Raise `LocalSageMakerError` if none runs."""
        if running := self.running():
            return running
        if self._running_file.exists():
            raise self.ended()
        raise LocalSageMakerError(
            "the local SageMaker is not running: run `tritonsm up` or `local-sagemaker up`"
        )

    def ended(self) -> LocalSageMakerError:
        """Return the error after the local SageMaker has ended without `down`."""
        return LocalSageMakerError(
            f"the local SageMaker has ended: read the end of {self.log}; `up --keep` "
            "restores what was deployed"
        )

    def write_running(self, running: RunningSageMaker) -> None:
        """Write running.json atomically."""
        new = self._running_file.with_suffix(".new")
        new.write_text(json.dumps(asdict(running)))
        new.replace(self._running_file)

    def delete_running(self) -> None:
        """Delete running.json."""
        self._running_file.unlink(missing_ok=True)
