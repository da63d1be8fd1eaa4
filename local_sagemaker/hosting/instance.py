"""An instance: a server with a container's contract around it, replaced when the server dies."""

import logging
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.happenings import HappeningKind
from local_sagemaker.hosting.capacity import Capacity
from local_sagemaker.hosting.container import Container
from local_sagemaker.hosting.health import wait_for_end
from local_sagemaker.hosting.pools import Pool
from local_sagemaker.hosting.triton import Triton, UnhealthyError

# How long a container that ends again and again is left alone: 100 ms and then twice as long each
# time, as Docker does it (Engine API, RestartPolicy); up to a minute, and from the start again once
# it has run for 10 s, is our choice. What SageMaker does is documented nowhere.
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 60.0
STEADY_SECONDS = 10.0

DOWNLOADED = "models", "model", "tmp"
"""Folders of a server's models and temporary files, which are deleted when it is ended."""

STOPPED = "the instances were stopped while they started"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunningServer:
    """A server, what speaks to it, the folder that holds its log and its models, and its size.

    `id` is that of an instance of EC2, as in the name of its log stream. `tell` is told what
    happens to it.
    """

    triton: Triton
    container: Container
    folder: Path
    capacity: Capacity
    id: str = ""
    tell: Callable[[HappeningKind, str], None] = lambda *_: None

    def end(self) -> None:
        """End the server and delete what it downloaded; its log stays."""
        self.triton.stop()
        for name in DOWNLOADED:
            shutil.rmtree(self.folder / name, ignore_errors=True)
        self.tell(HappeningKind.INSTANCE_ENDED, "It has ended.")


class InstanceState(StrEnum):
    """The state of an instance that has a server."""

    STARTING = "starting"
    SERVING = "serving"
    LEAVING = "leaving"


class Instance:
    """An instance of a variant. `begin` starts a server, the first and any other.

    `pool` is the one of the variant's that it belongs to; `ended` is called once, after `stop`.

    Once it was healthy, a server that ends is replaced by a new one in a folder of its own, which
    knows no model yet; the endpoint stays InService. `server` may still start; `running` is the
    same one while it is healthy.
    """

    def __init__(
        self,
        variant: str,
        begin: Callable[[], RunningServer],
        *,
        pool: Pool | None = None,
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        self.variant, self.pool = variant, pool
        self._ended = ended
        self.calls = 0  # in progress, or chosen for; its fleet counts them
        self.most_calls = 0  # at once, since they were measured last
        self.server: RunningServer | None = None
        self.running: RunningServer | None = None
        self._begin = begin
        self._lock, self._stopping = threading.Lock(), threading.Event()
        self._leaving = False

    @property
    def stopped(self) -> bool:
        """Whether it gets no server any more."""
        return self._stopping.is_set()

    @property
    def state(self) -> InstanceState:
        """The current state."""
        if self.stopped or self._leaving:
            return InstanceState.LEAVING
        return InstanceState.SERVING if self.running else InstanceState.STARTING

    def start(self) -> None:
        """Start a server. Raise `LocalSageMakerError` when `stop` was called before."""
        server = self._begin()
        with self._lock:
            if not self.stopped:
                self.server = server
                return
        server.end()
        raise LocalSageMakerError(STOPPED)

    def wait_until_healthy(self, seconds: float) -> None:
        """Wait for the server that was started, and replace it from then on.

        `seconds` are those that each server has to become healthy. Raise `LocalSageMakerError`
        when the first does not, in AWS's words (aws/sagemaker-python-sdk#787; the first sentence
        is recorded in cloud-custodian/cloud-custodian at df800e9e94, tests/data/placebo,
        test_sagemaker_endpoint_tag). What it wrote is in CloudWatch Logs.
        """
        try:
            self._become_healthy(seconds)
        except UnhealthyError as error:
            _log.warning("variant %s: %s", self.variant, error)
            raise LocalSageMakerError(
                f"The primary container for production variant {self.variant} did not pass the "
                "ping health check. Please check CloudWatch logs for this endpoint."
            ) from None
        threading.Thread(target=self._replace_the_failed, args=(seconds,), daemon=True).start()

    def leave(self) -> None:
        """Note that it gets no more calls, before it is stopped."""
        self._leaving = True
        if server := self.server:
            message = f"It is drained: {self.calls} calls are under way."
            server.tell(HappeningKind.INSTANCE_LEAVING, message)

    def stop(self) -> None:
        """End the server, also one that is starting, and start no more."""
        with self._lock:
            was_stopped = self.stopped
            self._stopping.set()
        self._end()
        if not was_stopped:
            self._ended()

    def _become_healthy(self, seconds: float) -> None:
        server, started = self.server, time.monotonic()
        if server is None:
            return
        server.triton.wait_until_healthy(seconds)
        with self._lock:
            if self.server is not server or self.stopped:
                return
            self.running = server
        took = time.monotonic() - started
        message = f"It is healthy after {took:.1f} s."
        server.tell(HappeningKind.INSTANCE_HEALTHY, message)

    def _replace_the_failed(self, seconds: float) -> None:
        pause = FIRST_PAUSE_SECONDS
        while True:
            if self._time_to_failure() >= STEADY_SECONDS:
                pause = FIRST_PAUSE_SECONDS
            self._end()
            if self._stopping.wait(pause):
                return
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            try:
                self.start()
                self._become_healthy(seconds)
            except Exception as error:  # whatever it is, the next attempt may do better
                _log.warning("variant %s: %s", self.variant, error)

    def _time_to_failure(self) -> float:
        """Return when there is no healthy server, and for how many seconds there was one."""
        server, started = self.running, time.monotonic()
        if server:
            report = partial(self._report, server)
            wait_for_end(server.triton, report)
            report(HappeningKind.INSTANCE_REPLACED, "The container has ended and is replaced.")
        return time.monotonic() - started

    def _report(self, server: RunningServer, kind: HappeningKind, message: str) -> None:
        """Log and tell what happens to a server, unless it was stopped."""
        if not self.stopped:
            _log.warning("variant %s, instance %s: %s", self.variant, server.id, message)
            server.tell(kind, message)

    def _end(self) -> None:
        with self._lock:
            server, self.server, self.running = self.server, None, None
        if server:
            server.end()
