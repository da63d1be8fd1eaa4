"""The phases of a build, and the exceptions that end a phase."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from local_sagemaker.codebuild.log import Log

Record = dict[str, Any]


class BuildEnded(Exception):
    """The end of a build whose current phase did not succeed (API, BuildPhase and Build).

    Without a `code`, the phase has no context.
    """

    def __init__(
        self, phase_status: str, build_status: str, code: str = "", message: str = ""
    ) -> None:
        super().__init__(message)
        self.phase_status, self.build_status = phase_status, build_status
        self.code, self.message = code, message


class BuildFailed(BuildEnded):
    """A failure of a phase because of the commands or the project; some later phases still run."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__("FAILED", "FAILED", code, message)


def build_stopped() -> BuildEnded:
    """Return the exception for StopBuild (the AWS CLI's example of stop-build)."""
    return BuildEnded("STOPPED", "STOPPED")


def build_timed_out() -> BuildEnded:
    """Return the exception for a build that exceeded its timeout.

    The phase is TIMED_OUT, the build FAILED: observed on AWS on 2026-08-31 by junioryono/billet
    (acceptance record); the API Reference does not specify it.
    """
    return BuildEnded("TIMED_OUT", "FAILED", "BUILD_TIMED_OUT", "Build has timed out.")


class Phases:
    """The phases of a build, which are added to its record and log.

    `check` raises `BuildEnded` if the build must end.
    """

    def __init__(
        self, record: Record, log: Log, *, clock: Callable[[], float], check: Callable[[], None]
    ) -> None:
        self._record, self._log, self._clock, self._check = record, log, clock, check
        self._end_phase(self._begin_phase("SUBMITTED"), "SUCCEEDED")
        self._begin_phase("QUEUED")

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Record the `with` block as a phase."""
        phase = self._record["phases"][-1] if name == "QUEUED" else self._begin_phase(name)
        try:
            self._check()
            yield
        except BuildEnded as end:
            self._end_phase(phase, end.phase_status, end)
            raise
        except Exception as error:  # an error of the local SageMaker
            message = f"Internal Service Error: {type(error).__name__}: {error}"
            fault = BuildEnded("FAULT", "FAULT", "INTERNAL_SERVICE_ERROR", message)
            self._end_phase(phase, fault.phase_status, fault)
            raise fault from error
        else:
            self._end_phase(phase, "SUCCEEDED")

    def complete(self) -> None:
        """Add the last phase, COMPLETED, which has no end time."""
        self._begin_phase("COMPLETED")

    def _begin_phase(self, name: str) -> Record:
        phase: Record = {"phaseType": name, "startTime": self._clock()}
        self._record["phases"].append(phase)
        self._record["currentPhase"] = name
        return phase

    def _end_phase(self, phase: Record, status: str, end: BuildEnded | None = None) -> None:
        name, code, message = phase["phaseType"], "", ""
        phase["endTime"] = self._clock()
        phase["durationInSeconds"] = int(phase["endTime"] - phase["startTime"])
        if end is not None:
            code, message = end.code, end.message
        if name not in ("SUBMITTED", "QUEUED") and (end is None or code):
            # Empty strings if the phase succeeded: the AWS CLI's example of batch-get-builds.
            phase["contexts"] = [{"statusCode": code, "message": message}]
        phase["phaseStatus"] = status
        if name not in ("SUBMITTED", "QUEUED", "PROVISIONING", "FINALIZING"):
            self._log.write_agent_line(f"Phase complete: {name} State: {status}")
            self._log.write_agent_line(f"Phase context status code: {code} Message: {message}")
        self._log.send()
