"""An instance: a server with a container's contract around it, replaced when the server dies."""

import logging
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from local_aws.errors import ApiError, LocalAwsError
from local_aws.hosting.multi_model_container import INVOKE_SECONDS
from local_aws.hosting.triton import Response, Triton

# How long a container that ends again and again is left alone: 100 ms and then twice as long each
# time, as Docker does it (Engine API, RestartPolicy); up to a minute, and from the start again once
# it has run for 10 s, is our choice. What SageMaker does is documented nowhere.
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 60.0
STEADY_SECONDS = 10.0

_log = logging.getLogger(__name__)


class Container(Protocol):
    """What answers invocations, in one of SageMaker's modes."""

    def invoke(self, target_model: str | None, *, body: bytes, headers: dict[str, str]) -> Response:
        """Forward one invocation. Raises `ApiError`, and `OSError` when nothing answers."""


@dataclass(frozen=True)
class Running:
    """A server, what speaks to it, and the folder that holds its log and its models."""

    triton: Triton
    container: Container
    folder: Path

    def end(self) -> None:
        """End the server and delete what it downloaded; its log stays."""
        self.triton.stop()
        for name in ("models", "model"):
            shutil.rmtree(self.folder / name, ignore_errors=True)


class Instance:
    """What stands for a variant's instances. `begin` starts a server, the first and any other.

    Once it was healthy, a server that ends is replaced by a new one in a folder of its own, which
    knows no model yet; the endpoint stays InService. Source: developers.deepgram.com, "Health
    Checks & Automatic Recovery": SageMaker replaces an instance that does not pass /ping. Here it
    is replaced when its process ends, whatever /ping says.
    """

    def __init__(self, name: str, begin: Callable[[], Running]) -> None:
        self.name = name
        self._begin = begin
        self._changed = threading.Condition()
        self._running: Running | None = None
        self._healthy = self._stopped = False

    def start(self) -> None:
        """Start a server. Raises `LocalAwsError` when `stop` was called before it was started."""
        running = self._begin()
        with self._changed:
            if not self._stopped:
                self._running = running
                return
        running.end()
        raise LocalAwsError("the instances were stopped while they started")

    def wait_until_healthy(self, seconds: float) -> None:
        """Wait for the server that was started, and replace it from then on.

        `seconds` are those that each server has to become healthy. Raises `LocalAwsError` when the
        first does not.
        """
        self._become_healthy(seconds)
        threading.Thread(target=self._replace_the_dead, args=(seconds,), daemon=True).start()

    def invoke(self, target_model: str | None, *, body: bytes, headers: dict[str, str]) -> Response:
        """Forward one invocation, as soon as there is a healthy server.

        Raises what the container does, and `ApiError` when no server becomes healthy in time.
        """
        with self._changed:
            # While there is none, SageMaker answers 503 (ServiceUnavailable of InvokeEndpoint's API
            # reference); that a call waits first, as long as one may take, is our choice.
            self._changed.wait_for(lambda: self._healthy or self._stopped, INVOKE_SECONDS)
            running = self._running if self._healthy else None
        if running is None:
            raise ApiError(
                "ServiceUnavailable",
                f"Variant {self.name} has no healthy instance: its container has ended, and no new "
                "one has passed the ping health check. Its log says why.",
                status=503,
            )
        return running.container.invoke(target_model, body=body, headers=headers)

    def stop(self) -> None:
        """End the server, also one that is starting, and start no more."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()
        self._end()

    def _become_healthy(self, seconds: float) -> None:
        running = self._running
        if running:
            running.triton.wait_until_healthy(seconds)
        with self._changed:
            self._healthy = self._running is not None
            self._changed.notify_all()

    def _replace_the_dead(self, seconds: float) -> None:
        pause = FIRST_PAUSE_SECONDS
        while True:
            if self._time_to_death() >= STEADY_SECONDS:
                pause = FIRST_PAUSE_SECONDS
            self._end()
            with self._changed:
                if self._changed.wait_for(lambda: self._stopped, pause):
                    return
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            _log.warning("the container of variant %s has ended and is replaced", self.name)
            try:
                self.start()
                self._become_healthy(seconds)
            except Exception as error:  # whatever it is, the next attempt may do better
                _log.warning("variant %s: %s", self.name, error)

    def _time_to_death(self) -> float:
        """Return when there is no healthy server, and for how many seconds there was one."""
        running, began = self._running, time.monotonic()
        if running and self._healthy:
            running.triton.wait()
        return time.monotonic() - began

    def _end(self) -> None:
        with self._changed:
            running, self._running = self._running, None
            self._healthy = False
        if running:
            running.end()
