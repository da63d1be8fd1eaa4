"""The run of a build, from the queue to the upload of the artifacts."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_sagemaker.codebuild import sources
from local_sagemaker.codebuild.artifacts import BuildOutput
from local_sagemaker.codebuild.buildspec import Buildspec
from local_sagemaker.codebuild.log import Log
from local_sagemaker.codebuild.phases import (
    BuildEnded,
    BuildFailed,
    Phases,
    build_stopped,
    build_timed_out,
)
from local_sagemaker.codebuild.quota import BuildQuota
from local_sagemaker.codebuild.shell import host_environment, run_command

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

Record = dict[str, Any]

POLL_SECONDS = 0.01


@dataclass
class RunningBuild:
    """A build in progress; the run updates `record`, which BatchGetBuilds returns.

    `logs` is the `logs` member of the record from the PROVISIONING phase on.
    """

    record: Record
    folder: Path
    log: Log
    logs: Record
    output: BuildOutput
    quota: BuildQuota
    s3: "S3Client"
    environment: dict[str, str]
    clock: Callable[[], float] = time.time
    _stopped: threading.Event = field(default_factory=threading.Event)
    _finished: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._deadline = float("inf")
        self._phases = Phases(
            self.record, self.log, clock=self.clock, check=self._check_can_continue
        )

    def run(self) -> None:
        """Run the build until it ends."""
        status = "FAULT"
        try:
            self._run_phases()
            status = "SUCCEEDED"
        except BuildEnded as end:
            status = end.build_status
        finally:  # set buildComplete last: the log is sent, and the next build may start
            self._phases.complete()
            self.log.send()
            self.quota.remove(self.record["id"])
            self.record.update(buildStatus=status, buildComplete=True, endTime=self.clock())
            self._finished.set()

    def stop(self) -> None:
        """Stop the build soon; return immediately."""
        self._stopped.set()

    def wait(self, timeout: float) -> None:
        """Return when the build has ended, or after `timeout` seconds."""
        self._finished.wait(timeout)

    def _run_phases(self) -> None:
        """Run the phases.

        After a failed BUILD or POST_BUILD the later phases still run (guide,
        view-build-details-phases, for UPLOAD_ARTIFACTS after BUILD; aws/copilot-cli#2780 after
        POST_BUILD). After a failure in an earlier phase only FINALIZING follows, as in published
        logs. StopBuild and the timeout end the build immediately.
        """
        self._wait_in_queue()
        self._provision()
        failures: list[BuildFailed] = []
        try:
            with self._phases.phase("DOWNLOAD_SOURCE"):
                spec = self._download()
            for name in ("install", "pre_build"):
                self._run_phase(name, spec)
        except BuildFailed as failed:
            failures.append(failed)
        else:
            for name in ("build", "post_build", "upload_artifacts"):
                try:
                    self._run_phase(name, spec)
                except BuildFailed as failed:
                    failures.append(failed)
        with self._phases.phase("FINALIZING"):
            pass
        if failures:
            raise failures[0]

    def _wait_in_queue(self) -> None:
        with self._phases.phase("QUEUED"):
            while not self.quota.may_run(self.record["id"]):
                self._stopped.wait(POLL_SECONDS)
                self._check_can_continue()

    def _provision(self) -> None:
        """Start the timeout, and create the log stream (API, LogsLocation)."""
        with self._phases.phase("PROVISIONING"):
            self._deadline = self.clock() + 60 * self.record["timeoutInMinutes"]
            if "groupName" in self.logs:
                self.log.open(self.logs["groupName"], self.logs["streamName"])
                self.record["logs"] = self.logs

    def _download(self) -> Buildspec:
        """Download the sources, set their variables, and return the buildspec.

        Source of the variables: guide, build-env-ref-env-vars.
        """
        folders = {"CODEBUILD_SRC_DIR": self.folder / "src"}
        sources.download(self.record["source"], self.folder / "src", self.s3)
        for source in self.record["secondarySources"]:
            name = source["sourceIdentifier"]
            folders[f"CODEBUILD_SRC_DIR_{name}"] = self.folder / f"src_{name}"
            sources.download(source, self.folder / f"src_{name}", self.s3)
        self.environment = {
            **host_environment(),
            # PIP_* is inherited from this machine, which selects the package index.
            **{key: value for key, value in self.environment.items() if not key.startswith("PIP_")},
            **{name: str(folder) for name, folder in folders.items()},
        }
        try:
            return Buildspec.parse(self.record["source"].get("buildspec", ""))
        except ValueError as error:
            raise BuildFailed("YAML_FILE_ERROR", str(error)) from error

    def _run_phase(self, name: str, spec: Buildspec) -> None:
        """Run the command of a phase, or upload the artifacts."""
        with self._phases.phase(name.upper()):
            folder = self.folder / "src"
            if name == "upload_artifacts":
                self.output.upload(spec.artifacts, folder)
            if command := spec.commands.get(name):
                self.log.write_agent_line(f"Running command {command}")
                status = run_command(
                    command,
                    folder=folder,
                    environment=self.environment,
                    log=self.log.file,
                    must_end=self._must_end,
                )
                self._check_can_continue()
                if status:
                    message = f"{command}. Reason: exit status {status}"
                    raise BuildFailed(
                        "COMMAND_EXECUTION_ERROR", f"Error while executing command: {message}"
                    )

    def _must_end(self) -> bool:
        """Wait for one poll interval, and return whether the build must end."""
        return self._stopped.wait(POLL_SECONDS) or self.clock() >= self._deadline

    def _check_can_continue(self) -> None:
        """Raise `BuildEnded` if the build must end."""
        if self._stopped.is_set():
            raise build_stopped()
        if self.clock() >= self._deadline:
            raise build_timed_out()
