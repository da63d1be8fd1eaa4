"""One build: fetch the sources, run the phases, keep the log."""

import io
import os
import signal
import subprocess
import threading
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_aws.codebuild.buildspec import PHASES, Buildspec
from local_aws.prerequisites import search_path

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Record = dict[str, Any]
GRACE_SECONDS = 5


class _Failed(Exception):
    """A phase failed; the message is the phase's context."""


@dataclass
class Build:
    """A build under way. `record` is what BatchGetBuilds answers, and changes as it goes."""

    record: Record
    folder: Path
    s3: "S3Client"
    environment: dict[str, str]
    _process: subprocess.Popen[bytes] | None = None
    _stopped: threading.Event = field(default_factory=threading.Event)

    @property
    def log(self) -> Path:
        """Everything that the commands print."""
        return self.folder / "build.log"

    def run(self) -> None:
        """Run the build to its end, whatever that is."""
        deadline = time.monotonic() + 60 * self.record["timeoutInMinutes"]
        try:
            self._phase("DOWNLOAD_SOURCE", self._download)
            spec = Buildspec.parse(self.record["source"].get("buildspec", ""))
            self._run_phases(spec, deadline)
        except (_Failed, ValueError, OSError) as error:
            self._write(f"[build] {error}\n")
            self._finish("STOPPED" if self._stopped.is_set() else "FAILED")
        except TimeoutError:
            self._finish("TIMED_OUT")
        else:
            self._finish("SUCCEEDED")

    def stop(self) -> None:
        """End the build's process, as StopBuild does."""
        self._stopped.set()
        if self._process:
            _end(self._process)

    def _run_phases(self, spec: Buildspec, deadline: float) -> None:
        """Run phase after phase; post_build also runs after a failed build, as in CodeBuild."""
        environment = {**spec.variables, **self.environment}
        failure: _Failed | None = None
        for phase in PHASES:
            if failure and phase != "post_build":
                break
            try:
                run = partial(self._run, spec.commands[phase], environment, deadline)
                self._phase(phase.upper(), run)
            except _Failed as error:
                failure = failure or error
                if phase != "build":
                    break
        if failure:
            raise failure

    def _phase(self, name: str, work: Callable[[], None]) -> None:
        if self._stopped.is_set():
            raise _Failed("the build was stopped")
        phase: Record = {"phaseType": name, "startTime": time.time()}
        self.record["phases"].append(phase)
        self.record["currentPhase"] = name
        try:
            work()
        except BaseException as error:
            timed_out = isinstance(error, TimeoutError)
            phase["phaseStatus"] = "TIMED_OUT" if timed_out else "FAILED"
            phase["contexts"] = [{"statusCode": "COMMAND_EXECUTION_ERROR", "message": str(error)}]
            raise
        else:
            phase["phaseStatus"] = "SUCCEEDED"
        finally:
            phase["endTime"] = time.time()
            phase["durationInSeconds"] = int(phase["endTime"] - phase["startTime"])

    def _download(self) -> None:
        self._unpack(self.record["source"], "src")
        for source in self.record.get("secondarySources", []):
            self._unpack(source, source["sourceIdentifier"])
            variable = f"CODEBUILD_SRC_DIR_{source['sourceIdentifier']}"
            self.environment[variable] = str(self.folder / source["sourceIdentifier"])
        self.environment["CODEBUILD_SRC_DIR"] = str(self.folder / "src")

    def _unpack(self, source: Record, name: str) -> None:
        to = self.folder / name
        to.mkdir(parents=True)
        if source["type"] == "NO_SOURCE":
            return
        if source["type"] != "S3":
            raise _Failed(f"the local AWS builds from S3 sources, not from {source['type']}")
        bucket, _, key = source["location"].removeprefix("arn:aws:s3:::").partition("/")
        content = self.s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            archive.extractall(to)

    def _run(self, commands: list[str], environment: dict[str, str], deadline: float) -> None:
        for command in commands:
            self._write(f"[build] {command}\n")
            with self.log.open("ab") as log:
                self._process = subprocess.Popen(
                    ["bash", "-c", command],
                    cwd=environment["CODEBUILD_SRC_DIR"],
                    env={**_host_environment(), **environment},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            try:
                status = self._process.wait(timeout=max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                _end(self._process)
                minutes = self.record["timeoutInMinutes"]
                raise TimeoutError(f"the build ran longer than {minutes} minutes") from None
            if status:
                raise _Failed(
                    f"Error while executing command: {command}. Reason: exit status {status}. "
                    f"It said: {self._last_line()}"
                )

    def _last_line(self) -> str:
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return lines[-1] if lines else "nothing"

    def _write(self, text: str) -> None:
        with self.log.open("a") as log:
            log.write(text)

    def _finish(self, status: str) -> None:
        self.record["phases"].append({"phaseType": "COMPLETED", "startTime": time.time()})
        self.record.update(
            buildStatus=status, buildComplete=True, currentPhase="COMPLETED", endTime=time.time()
        )


def _host_environment() -> dict[str, str]:
    """What a command sees of this machine: pip's and the locale's settings, and this Python."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in ("HOME", "LANG", "TMPDIR") or name.startswith(("PIP_", "LC_", "SSL_"))
    }
    return {**kept, "PATH": search_path(), "PYTHONDONTWRITEBYTECODE": "1"}


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            process.wait(timeout=GRACE_SECONDS)
        except ProcessLookupError:
            return
        except subprocess.TimeoutExpired:
            continue
        return
