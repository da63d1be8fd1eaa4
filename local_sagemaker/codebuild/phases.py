"""A build's phases: how its record says that they begin and end."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from local_sagemaker.codebuild.log import Log

Record = dict[str, Any]


class Ended(Exception):
    """A phase did not succeed: the status of the phase and of the build, and the phase's context.

    The statuses are those of API, BuildPhase and Build. A phase without a `code` gets no context.
    """

    def __init__(self, phase: str, build: str, code: str = "", message: str = "") -> None:
        super().__init__(message)
        self.phase, self.build, self.code, self.message = phase, build, code, message


class Failed(Ended):
    """The commands or the project are at fault. Some phases run all the same."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__("FAILED", "FAILED", code, message)


def stopped() -> Ended:
    """Return the end that StopBuild makes (as in the AWS CLI's example of stop-build)."""
    return Ended("STOPPED", "STOPPED")


def timed_out() -> Ended:
    """Return the end of a build that ran too long.

    The phase is TIMED_OUT, the build FAILED: so did AWS answer on 2026-08-31, as the repository
    junioryono/billet notes in its acceptance record; the API Reference leaves it open.
    """
    return Ended("TIMED_OUT", "FAILED", "BUILD_TIMED_OUT", "Build has timed out.")


class Phases:
    """Writes a build's phases into its record and its log. It begins in the queue."""

    def __init__(
        self, record: Record, log: Log, *, clock: Callable[[], float], check: Callable[[], None]
    ) -> None:
        self._record, self._log, self._clock, self._check = record, log, clock, check
        self._end(self._begin("SUBMITTED"), "SUCCEEDED")
        self._begin("QUEUED")

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Run one phase; `check` says by an `Ended` that the build must not go on."""
        phase = self._record["phases"][-1] if name == "QUEUED" else self._begin(name)
        try:
            self._check()
            yield
        except Ended as end:
            self._end(phase, end.phase, end)
            raise
        except Exception as error:  # AWS then says that it is at fault, and no more
            message = f"Internal Service Error: {type(error).__name__}: {error}"
            fault = Ended("FAULT", "FAULT", "INTERNAL_SERVICE_ERROR", message)
            self._end(phase, fault.phase, fault)
            raise fault from error
        else:
            self._end(phase, "SUCCEEDED")

    def complete(self) -> None:
        """Begin the last phase, which has no end."""
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
            # An empty one where all went well: the AWS CLI's example of batch-get-builds.
            phase["contexts"] = [{"statusCode": code, "message": message}]
        phase["phaseStatus"] = status
        if name not in ("SUBMITTED", "QUEUED", "PROVISIONING", "FINALIZING"):
            self._log.say(f"Phase complete: {name} State: {status}")
            self._log.say(f"Phase context status code: {code} Message: {message}")
        self._log.send()
