"""One build: fetch the sources, run the phases, keep the log."""

import io
import os
import shlex
import signal
import subprocess
import threading
import time
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from local_aws.codebuild.buildspec import PHASES, Buildspec
from local_aws.prerequisites import search_path

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Record = dict[str, Any]
GRACE_SECONDS = 5
POLL_SECONDS = 0.01


class _Failed(Exception):
    """A phase failed; the message is the phase's context."""


class _TimedOut(Exception):
    """The build took longer than it may; the message is the phase's context."""


@dataclass
class Build:
    """A build under way. `record` is what BatchGetBuilds answers, and changes as it goes.

    One thread, in `run`, starts, ends and reaps all processes. No command is reaped before the
    build ends: until then the number of its process group cannot become another's.
    """

    record: Record
    folder: Path
    s3: "S3Client"
    environment: dict[str, str]
    _processes: list[subprocess.Popen[bytes]] = field(default_factory=list)
    _stopped: threading.Event = field(default_factory=threading.Event)
    _finished: threading.Event = field(default_factory=threading.Event)

    @property
    def log(self) -> Path:
        """Everything that the commands print."""
        return self.folder / "build.log"

    def run(self) -> None:
        """Run the build to its end, whatever that is."""
        deadline = time.monotonic() + 60 * self.record["timeoutInMinutes"]
        status = "FAILED"
        try:
            with self._phase("DOWNLOAD_SOURCE"):
                self._download()
                spec = Buildspec.parse(self.record["source"].get("buildspec", ""))
            self._run_phases(spec, deadline)
            status = "SUCCEEDED"
        except _TimedOut as error:
            status = "TIMED_OUT"
            self._write(f"[build] {error}\n")
        except Exception as error:
            status = "STOPPED" if self._stopped.is_set() else "FAILED"
            self._write(f"[build] {_reason(error)}\n")
        finally:
            for process in self._processes:
                os.killpg(process.pid, signal.SIGKILL)  # what a command left in the background
                process.wait()
            self._finish(status)

    def stop(self) -> None:
        """Ask the build to end, as StopBuild does: no further command runs."""
        self._stopped.set()

    def wait(self, timeout: float) -> None:
        """Return when the build has ended, or after `timeout` seconds."""
        self._finished.wait(timeout)

    def _run_phases(self, spec: Buildspec, deadline: float) -> None:
        """Run phase after phase; post_build also runs after a failed build, as in CodeBuild."""
        shell = _Shell(
            self.folder / "environment",
            {
                **_host_environment(),
                **spec.variables,
                # Packages come from where this machine gets them.
                **{k: it for k, it in self.environment.items() if not k.startswith("PIP_")},
                "PWD": self.environment["CODEBUILD_SRC_DIR"],
            },
        )
        failure: _Failed | None = None
        for phase in PHASES:
            if failure and phase != "post_build":
                break
            try:
                with self._phase(phase.upper()):
                    self._run(spec.commands[phase], shell, deadline)
            except _Failed as error:
                failure = failure or error
                if phase != "build":
                    break
        if failure:
            raise failure

    @contextmanager
    def _phase(self, name: str) -> Iterator[None]:
        self._refuse_if_stopped()
        phase: Record = {"phaseType": name, "startTime": time.time()}
        self.record["phases"].append(phase)
        self.record["currentPhase"] = name
        try:
            yield
        except Exception as error:
            message = _reason(error)
            phase["phaseStatus"] = "TIMED_OUT" if isinstance(error, _TimedOut) else "FAILED"
            phase["contexts"] = [{"statusCode": "COMMAND_EXECUTION_ERROR", "message": message}]
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
        try:
            content = self.s3.get_object(Bucket=bucket, Key=key)["Body"].read()
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                archive.extractall(to)
        except (ClientError, BotoCoreError, zipfile.BadZipFile) as error:
            raise _Failed(f"cannot unpack the source s3://{bucket}/{key}: {error}") from error

    def _run(self, commands: list[str], shell: "_Shell", deadline: float) -> None:
        for command in commands:
            self._refuse_if_stopped()
            self._write(f"[build] {command}\n")
            start = self.log.stat().st_size
            with self.log.open("ab") as log:
                process = subprocess.Popen(
                    ["bash", "-c", shell.script(command)],
                    cwd=shell.environment["PWD"],
                    env=shell.environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    start_new_session=True,
                )
            self._processes.append(process)
            status = self._exit_status(process, deadline)
            shell.take_over()
            if status:
                raise _Failed(
                    f"Error while executing command: {command}. Reason: exit status {status}. "
                    f"It said{self._last_line(start)}"
                )

    def _exit_status(self, process: subprocess.Popen[bytes], deadline: float) -> int:
        """Return a command's status when it has ended; end it when it must."""
        while (status := _status(process)) is None and time.monotonic() < deadline:
            if self._stopped.wait(POLL_SECONDS):
                break
        if status is None:
            _terminate(process)
        self._refuse_if_stopped()
        if status is None:
            minutes = self.record["timeoutInMinutes"]
            raise _TimedOut(f"the build ran longer than {minutes} minutes")
        return status

    def _refuse_if_stopped(self) -> None:
        if self._stopped.is_set():
            raise _Failed("the build was stopped")

    def _last_line(self, start: int) -> str:
        """Return the end of what was printed from the byte `start` of the log on."""
        with self.log.open("rb") as log:
            log.seek(start)
            lines = log.read().decode(errors="replace").strip().splitlines()
        return f": {lines[-1]}" if lines else " nothing"

    def _write(self, text: str) -> None:
        with self.log.open("a") as log:
            log.write(text)

    def _finish(self, status: str) -> None:
        self.record["phases"].append({"phaseType": "COMPLETED", "startTime": time.time()})
        self.record.update(
            buildStatus=status, buildComplete=True, currentPhase="COMPLETED", endTime=time.time()
        )
        self._finished.set()


@dataclass
class _Shell:
    """What the commands of all phases share, as buildspec version 0.2 has it.

    Each command is a bash of its own, so that it has a status and can be ended; on leaving, it
    writes its exported variables, PWD among them, to `file`, and the next one starts with them.
    """

    file: Path
    environment: dict[str, str]

    def script(self, command: str) -> str:
        """Return what bash shall run."""
        save = f"command -p env -0 > {shlex.quote(str(self.file))}"
        return f"trap {shlex.quote(save)} EXIT\n{command}"

    def take_over(self) -> None:
        """Take what the last command left; one that was killed left nothing."""
        content = self.file.read_bytes() if self.file.exists() else b""
        variables = dict(os.fsdecode(it).split("=", 1) for it in content.split(b"\0") if it)
        if "PWD" in variables:
            self.environment = variables
        self.file.unlink(missing_ok=True)


def _host_environment() -> dict[str, str]:
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


def _reason(error: Exception) -> str:
    """Return an error's message, with its type where it was not worded for people."""
    worded = isinstance(error, _Failed | _TimedOut | ValueError)
    return str(error) if worded else f"{type(error).__name__}: {error}"


def _status(process: subprocess.Popen[bytes]) -> int | None:
    """Return a process's exit status, negative for a signal, without reaping it."""
    ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    if ended is None:
        return None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status


def _terminate(process: subprocess.Popen[bytes]) -> None:
    """Ask a process and all that it started to end, and give them some time for it."""
    os.killpg(process.pid, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_SECONDS
    while _status(process) is None and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
