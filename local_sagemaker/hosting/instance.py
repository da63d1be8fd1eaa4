"""An instance: a server with a container's contract around it, replaced when the server dies."""

import asyncio
import logging
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any

from local_sagemaker.errors import ApiError, LocalSageMakerError, plain_message
from local_sagemaker.happenings import Kind
from local_sagemaker.hosting.capacity import Capacity
from local_sagemaker.hosting.connections import Connections
from local_sagemaker.hosting.container import INVOKE_SECONDS, Container
from local_sagemaker.hosting.container_response import model_error
from local_sagemaker.hosting.health import wait_for_failure
from local_sagemaker.hosting.invocation import Invocation
from local_sagemaker.hosting.pools import Pool
from local_sagemaker.hosting.triton import Triton, UnhealthyError

# How long a container that ends again and again is left alone: 100 ms and then twice as long each
# time, as Docker does it (Engine API, RestartPolicy); up to a minute, and from the start again once
# it has run for 10 s, is our choice. What SageMaker does is documented nowhere.
FIRST_PAUSE_SECONDS = 0.1
LONGEST_PAUSE_SECONDS = 60.0
STEADY_SECONDS = 10.0

TIMED_OUT = (
    b"Your invocation timed out while waiting for a response from container primary. Review the "
    b"latency metrics for each container in Amazon CloudWatch, resolve the issue, and try again."
)

DOWNLOADED = "models", "model", "tmp"
"""Folders of a server's models and temporary files, which are deleted when it is ended."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Running:
    """A server, what speaks to it, the folder that holds its log and its models, and its size.

    `id` is that of an instance of EC2, as in the name of its log stream. `tell` is told what
    happens to it.
    """

    triton: Triton
    container: Container
    folder: Path
    capacity: Capacity
    id: str = ""
    tell: Callable[[Kind, str], None] = lambda *_: None

    def end(self) -> None:
        """End the server and delete what it downloaded; its log stays."""
        self.triton.stop()
        for name in DOWNLOADED:
            shutil.rmtree(self.folder / name, ignore_errors=True)
        self.tell(Kind.INSTANCE_ENDED, "The instance has ended.")


class InstanceState(StrEnum):
    """What an instance does that has a server."""

    STARTING = "starting"
    SERVING = "serving"
    LEAVING = "leaving"


class Instance:
    """An instance of a variant. `begin` starts a server, the first and any other.

    `pool` is the one of the variant's that it belongs to; `ended` is called once, after `stop`.

    Once it was healthy, a server that ends, or fails more pings in a row than `most_failed_pings`
    allows, is replaced by a new one in a folder of its own, which knows no model yet; the endpoint
    stays InService.
    """

    def __init__(
        self,
        variant: str,
        begin: Callable[[], Running],
        *,
        most_failed_pings: int | None = None,
        pool: Pool | None = None,
        ended: Callable[[], None] = lambda: None,
    ) -> None:
        self.variant, self.pool, self._most_failed_pings = variant, pool, most_failed_pings
        self._ended = ended
        self.calls = 0  # under way, or chosen for; its fleet counts them
        self.most_calls = 0  # at once, since they were measured last
        self._begin = begin
        self._changed = threading.Condition()
        self._running: Running | None = None
        self._healthy: Running | None = None
        self._next_healthy = Future[Running]()
        self._stopped = self._leaving = False

    def start(self) -> None:
        """Start a server. Raises `LocalSageMakerError` when `stop` was called before."""
        running = self._begin()
        with self._changed:
            if not self._stopped:
                self._running = running
                return
        running.end()
        raise LocalSageMakerError("the instances were stopped while they started")

    def wait_until_healthy(self, seconds: float) -> None:
        """Wait for the server that was started, and replace it from then on.

        `seconds` are those that each server has to become healthy. Raises `LocalSageMakerError`
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

    @property
    def healthy(self) -> bool:
        """Whether its server passed the ping health check, and runs."""
        return self._healthy is not None

    @property
    def running(self) -> Running | None:
        """Its server, if it passed the ping health check, and runs."""
        return self._healthy

    @property
    def server(self) -> Running | None:
        """Its server, also one that starts."""
        return self._running

    @property
    def state(self) -> InstanceState:
        """What it does now."""
        if self._stopped or self._leaving:
            return InstanceState.LEAVING
        return InstanceState.SERVING if self._healthy else InstanceState.STARTING

    def leave(self) -> None:
        """Say that it gets no more calls, before it is stopped."""
        self._leaving = True
        if running := self._running:
            told = f"The instance gets no more calls; {self.calls} are under way."
            running.tell(Kind.INSTANCE_LEAVING, told)

    def has(self, target_model: str | None) -> bool:
        """Whether an invocation would be answered without loading anything."""
        running = self._running
        return running is not None and running.container.has(target_model)

    async def invoke(self, invocation: Invocation) -> None:
        """Have an invocation answered, as soon as there is a healthy server.

        Raises what `Invocation.forward` and the container do, and `ApiError` when no server becomes
        healthy, no model ready or nothing answered in time.
        """
        running = self._healthy or await self._in_service()
        call = running.container.acquire(invocation.target_model)
        try:
            if call.target_model is not None:
                invocation.model_was_loaded = call.load is None
            if call.load:
                with _measuring(partial(setattr, invocation, "loading_seconds")):
                    await _loaded(call.load, invocation.target_model)
            with _measuring(partial(setattr, invocation, "model_seconds")):
                await _exchange(running.triton.connections, call.path, invocation)
        finally:
            running.container.release(call)

    def stop(self) -> None:
        """End the server, also one that is starting, and start no more."""
        with self._changed:
            was_stopped, self._stopped = self._stopped, True
            self._changed.notify_all()
        self._end()
        if not was_stopped:
            self._ended()

    async def _in_service(self) -> Running:
        # While there is none, SageMaker answers 503 (ServiceUnavailable of InvokeEndpoint's API
        # reference); that a call waits first, as long as one may take, is our choice.
        healthy = self._next_healthy
        if not await _done(healthy) or healthy.cancelled():
            raise ApiError(
                "ServiceUnavailable",
                f"Variant {self.variant} has no healthy instance: its container has ended, and no "
                "new one has passed the ping health check. Its log says why.",
                status=503,
            )
        return healthy.result()

    def _become_healthy(self, seconds: float) -> None:
        running, begun = self._running, time.monotonic()
        if running:
            running.triton.wait_until_healthy(seconds)
        with self._changed:
            if running and self._running is running and not self._stopped:
                self._healthy = running
                self._next_healthy.set_result(running)
        if running and self._healthy is running:
            took = time.monotonic() - begun
            told = f"The instance passed the ping health check after {took:.1f} s."
            running.tell(Kind.INSTANCE_HEALTHY, told)

    def _replace_the_failed(self, seconds: float) -> None:
        pause = FIRST_PAUSE_SECONDS
        while True:
            if self._time_to_failure() >= STEADY_SECONDS:
                pause = FIRST_PAUSE_SECONDS
            self._end()
            with self._changed:
                if self._changed.wait_for(lambda: self._stopped, pause):
                    return
            pause = min(2 * pause, LONGEST_PAUSE_SECONDS)
            try:
                self.start()
                self._become_healthy(seconds)
            except Exception as error:  # whatever it is, the next attempt may do better
                _log.warning("variant %s: %s", self.variant, error)

    def _time_to_failure(self) -> float:
        """Return when there is no healthy server, and for how many seconds there was one."""
        running, began = self._running, time.monotonic()
        if running and self._healthy:
            report = partial(self._report, running)
            failure = wait_for_failure(running.triton, report, most_failed=self._most_failed_pings)
            report(Kind.INSTANCE_REPLACED, f"The container {failure} and is replaced.")
        return time.monotonic() - began

    def _report(self, running: Running, kind: Kind, message: str) -> None:
        """Log and tell what happens to a server, unless it was stopped."""
        if not self._stopped:
            _log.warning("variant %s, instance %s: %s", self.variant, running.id, message)
            running.tell(kind, message)

    def _end(self) -> None:
        with self._changed:
            running, self._running = self._running, None
            self._healthy = None
            if self._next_healthy.done():
                self._next_healthy = Future()
            if self._stopped:
                self._next_healthy.cancel()
        if running:
            running.end()


@contextmanager
def _measuring(keep: Callable[[float], None]) -> Iterator[None]:
    """Keep the seconds that the block takes, however it ends."""
    begun = time.monotonic()
    try:
        yield
    finally:
        keep(time.monotonic() - begun)


async def _loaded(load: Future[None], target_model: str | None) -> None:
    if not await _done(load):
        raise ApiError(
            "ModelNotReadyException",
            f"Model {target_model} is not ready for inference: it is still loading. Retry.",
            status=429,
        )
    try:
        load.result()
    except OSError as error:
        raise _no_answer(error) from None


async def _done(future: Future[Any]) -> bool:
    """Return whether a future is done, after the time that a container has at most."""
    waited = asyncio.wrap_future(future)
    # The caller looks at `future`: asyncio would log that nobody looks at this one's error.
    waited.add_done_callback(lambda it: it.cancelled() or it.exception())
    await asyncio.wait([waited], timeout=INVOKE_SECONDS)
    return future.done()


async def _exchange(connections: Connections, path: str, invocation: Invocation) -> None:
    connection, kept = None, False
    try:
        async with asyncio.timeout(invocation.most_seconds or INVOKE_SECONDS):
            connection = await connections.take()
            kept = await invocation.forward(connection, path)
    except (OSError, EOFError) as error:
        raise _no_answer(error) from None
    finally:
        if connection and kept:
            connections.give_back(connection)
        elif connection:
            connection.writer.close()


def _no_answer(error: Exception) -> ApiError:
    """Return a ModelError; source of the one after a minute: RamVegiraju/SageMaker-Deployment#3."""
    if isinstance(error, TimeoutError):
        return model_error(0, TIMED_OUT)
    why = plain_message(error) or type(error).__name__
    return ApiError("ModelError", f"The container did not answer: {why}", status=424)
