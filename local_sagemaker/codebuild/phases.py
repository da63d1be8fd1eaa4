"""The phases of a build: records, log lines, and the errors that end them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from local_sagemaker.codebuild.log import Log

Record = dict[str, Any]


class Ended(Exception):
    """A phase did not succeed; has the status of the phase and of the build, and its context.

    The statuses are those of API, BuildPhase and Build. Without a `code` the phase has no context.
    """

    def __init__(self, phase: str, build: str, code: str = "", message: str = "") -> None:
        super().__init__(message)
        self.phase, self.build, self.code, self.message = phase, build, code, message


class Failed(Ended):
    """A phase failed because of the commands or the project; some later phases still run."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__("FAILED", "FAILED", code, message)


def stopped() -> Ended:
    """Return the exception for StopBuild (the AWS CLI's example of stop-build)."""
    return Ended("STOPPED", "STOPPED")


def timed_out() -> Ended:
    """Return the exception for a build that exceeded its timeout.

    The phase is TIMED_OUT, the build FAILED: observed on AWS on 2026-08-31 by junioryono/billet
    (acceptance record); the API Reference does not specify it.
    """
    return Ended("TIMED_OUT", "FAILED", "BUILD_TIMED_OUT", "Build has timed out.")


class Phases:
    """Records the phases of a build in its record and log, beginning with QUEUED.

    `check` raises `Ended` if the build must not continue.
    """

    def __init__(
        self, record: Record, log: Log, *, clock: Callable[[], float], check: Callable[[], None]
    ) -> None:
        self._record, self._log, self._clock, self._check = record, log, clock, check
        self._end(self._begin("SUBMITTED"), "SUCCEEDED")
        self._begin("QUEUED")

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Record the `with` block as a phase."""
        phase = self._record["phases"][-1] if name == "QUEUED" else self._begin(name)
        try:
            self._check()
            yield
        except Ended as end:
            self._end(phase, end.phase, end)
            raise
        except Exception as error:  # an error of the local SageMaker
            message = f"Internal Service Error: {type(error).__name__}: {error}"
            fault = Ended("FAULT", "FAULT", "INTERNAL_SERVICE_ERROR", message)
            self._end(phase, fault.phase, fault)
            raise fault from error
        else:
            self._end(phase, "SUCCEEDED")

    def complete(self) -> None:
        """Begin the last phase, COMPLETED, which has no end time."""
        self._begin("COMPLETED")

    def _begin(self, name: str) -> Record:
        phase: Record = {"phaseType": name, "startTime": self._clock()}
        self._record["phases"].append(phase)
        self._record["currentPhase"] = name
        return phase

    def _end(self, phase: Record, status: str, end: Ended | None = None) -> None:
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
            self._log.say(f"Phase complete: {name} State: {status}")
            self._log.say(f"Phase context status code: {code} Message: {message}")
        self._log.send()
