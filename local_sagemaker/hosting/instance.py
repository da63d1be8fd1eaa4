"""An instance of a variant. If its server process ends, the instance starts a new one."""

import asyncio
import logging
import re
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path

from local_sagemaker.dashboard_events import EventKind
from local_sagemaker.errors import ApiError, LocalSageMakerError, plain_message
from local_sagemaker.hosting.capacity import Capacity
from local_sagemaker.hosting.container import Call, Container
from local_sagemaker.hosting.health import ping_until_end
from local_sagemaker.hosting.invocation import INVOKE_SECONDS, Invocation, model_error
from local_sagemaker.hosting.pools import Pool
from local_sagemaker.hosting.triton import Triton, UnhealthyError

# Exponential backoff of restarts: 100 ms, doubled each time, as in Docker (Engine API,
# RestartPolicy). The maximum, and the reset after `STABLE_SECONDS`, are our choice; SageMaker's
# behaviour is not documented.
MIN_PAUSE_SECONDS = 0.1
MAX_PAUSE_SECONDS = 60.0
STABLE_SECONDS = 10.0

DOWNLOAD_FOLDERS = "models", "model", "tmp"
"""Subfolders for models and temporary files, which are deleted when the server ends."""

POLL_SECONDS = 0.05
"""Poll interval while an invocation waits for a healthy server."""

TIMEOUT_MESSAGE = (
    b"Your invocation timed out while waiting for a response from container primary. Review the "
    b"latency metrics for each container in Amazon CloudWatch, resolve the issue, and try again."
)
"""Source: RamVegiraju/SageMaker-Deployment#3."""

UNKNOWN_MODEL = re.compile(
    r"""\{"error":"(Request for unknown model|Identifier of model .* is not found in global map)"""
)
"""Triton's response for a model that was unloaded without a request of SageMaker, for example with
pb_utils.unload_model. Source: triton-inference-server/core, src/model_repository_manager."""

STOPPED = "the instances were stopped while they started"

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class RunningServer:
    """A server process with its container interface, folder and capacity.

    `folder` contains the log and the models. `id` looks like an EC2 instance id and is part of the
    name of the log stream. `report_event` reports an event to the dashboard.
    """

    triton: Triton
    container: Container
    folder: Path
    capacity: Capacity
    id: str = ""
    report_event: Callable[[EventKind, str], None] = lambda *_: None

    def end(self) -> None:
        """End the server and delete its downloads; the log remains."""
        self.triton.stop()
        for name in DOWNLOAD_FOLDERS:
            shutil.rmtree(self.folder / name, ignore_errors=True)
        self.report_event(EventKind.INSTANCE_ENDED, "It has ended.")


class InstanceState(StrEnum):
    """The state of an instance with a server."""

    STARTING = "starting"
    SERVING = "serving"
    LEAVING = "leaving"


class Instance:
    """An instance of a variant, in the instance pool `pool`.

    Once a server was healthy, each server that ends is replaced by a new one with an empty folder
    and no loaded models; the endpoint stays InService. `server` is the current server, and
    `healthy_server` is the same server once it is healthy, else None. `start_server` starts a new
    server; `on_stopped` is called once, when `stop` has ended the last one.
    """

    def __init__(
        self,
        variant: str,
        start_server: Callable[[], RunningServer],
        *,
        pool: Pool | None = None,
        on_stopped: Callable[[], None] = lambda: None,
    ) -> None:
        self.variant, self.pool = variant, pool
        self._on_stopped = on_stopped
        self.calls = 0  # calls in progress: chosen by the fleet, until `invoke` ends
        self.max_calls = 0  # maximum of `calls` since the last measurement
        self.server: RunningServer | None = None
        self.healthy_server: RunningServer | None = None
        self._start_server = start_server
        self._lock, self._stopping = threading.Lock(), threading.Event()
        self._leaving = False

    @property
    def stopped(self) -> bool:
        """Whether `stop` has been called."""
        return self._stopping.is_set()

    @property
    def state(self) -> InstanceState:
        """The state of the instance on the dashboard."""
        if self.stopped or self._leaving:
            return InstanceState.LEAVING
        return InstanceState.SERVING if self.healthy_server else InstanceState.STARTING

    def start(self) -> None:
        """Start a server. Raise `LocalSageMakerError` if `stop` was called before."""
        server = self._start_server()
        with self._lock:
            if not self.stopped:
                self.server = server
                return
        server.end()
        raise LocalSageMakerError(STOPPED)

    def wait_until_healthy(self, seconds: float) -> None:
        """Wait until the first server is healthy; from then on, replace each server that ends.

        `seconds` is the startup timeout of each server. Raise `LocalSageMakerError` with AWS's
        message if the first one is not healthy in time (aws/sagemaker-python-sdk#787; the first
        sentence is recorded in cloud-custodian/cloud-custodian at df800e9e94, tests/data/placebo,
        test_sagemaker_endpoint_tag).
        """
        try:
            self._become_healthy(seconds)
        except UnhealthyError as error:
            _log.warning("variant %s: %s", self.variant, error)
            raise LocalSageMakerError(
                f"The primary container for production variant {self.variant} did not pass the "
                "ping health check. Please check CloudWatch logs for this endpoint."
            ) from None
        threading.Thread(target=self._replace_ended_servers, args=(seconds,), daemon=True).start()

    async def invoke(self, invocation: Invocation) -> None:
        """Run an invocation: wait for a healthy server and the model's load, forward, release.

        Raise `ApiError`, also on a timeout, and `ClientDisconnectedError`.
        """
        try:
            server = self.healthy_server or await self._wait_for_server()
            call, error = server.container.acquire(invocation.target_model), None
            try:
                await _wait_for_load(call, invocation)
                await _forward(server, call, invocation)
            except ApiError as raised:
                error = raised
                raise
            finally:
                server.container.release(call, unloaded=_was_unloaded(error))
        finally:
            self.calls -= 1

    async def _wait_for_server(self) -> RunningServer:
        """Wait for the healthy server, and return it. Raise `ApiError` on a timeout.

        SageMaker responds with 503 (InvokeEndpoint's API reference, ServiceUnavailable); waiting
        for `INVOKE_SECONDS` before that is our choice.
        """
        deadline = time.monotonic() + INVOKE_SECONDS
        while not self.healthy_server:
            if self.stopped or time.monotonic() > deadline:
                raise ApiError(
                    "ServiceUnavailable",
                    f"Variant {self.variant} has no healthy instance: its container has exited, "
                    "and no new one has passed the ping health check. See its log.",
                    status=503,
                )
            await asyncio.sleep(POLL_SECONDS)
        return self.healthy_server

    def leave(self) -> None:
        """Change the state to leaving: the instance gets no more calls."""
        self._leaving = True
        if server := self.server:
            message = f"It is draining: {self.calls} calls are in progress."
            server.report_event(EventKind.INSTANCE_LEAVING, message)

    def stop(self) -> None:
        """End the current server, even if it is still starting, and start no other."""
        with self._lock:
            was_stopped = self.stopped
            self._stopping.set()
        self._end()
        if not was_stopped:
            self._on_stopped()

    def _become_healthy(self, seconds: float) -> None:
        server, started = self.server, time.monotonic()
        if server is None:
            return
        server.triton.wait_until_healthy(seconds)
        with self._lock:
            if self.server is not server or self.stopped:
                return
            self.healthy_server = server
        message = f"It is healthy after {time.monotonic() - started:.1f} s."
        server.report_event(EventKind.INSTANCE_HEALTHY, message)

    def _replace_ended_servers(self, seconds: float) -> None:
        pause = MIN_PAUSE_SECONDS
        while True:
            if self._wait_for_end() >= STABLE_SECONDS:
                pause = MIN_PAUSE_SECONDS
            self._end()
            if self._stopping.wait(pause):
                return
            pause = min(2 * pause, MAX_PAUSE_SECONDS)
            try:
                self.start()
                self._become_healthy(seconds)
            except Exception as error:  # any error: try again
                _log.warning("variant %s: %s", self.variant, error)

    def _wait_for_end(self) -> float:
        """Wait until the server has ended; return the waiting time in seconds."""
        server, started = self.healthy_server, time.monotonic()
        if server:
            report = partial(self._report, server)
            ping_until_end(server.triton, report)
            report(EventKind.INSTANCE_REPLACED, "The container has ended and is replaced.")
        return time.monotonic() - started

    def _report(self, server: RunningServer, kind: EventKind, message: str) -> None:
        """Log and report an event of a server, unless the instance has been stopped."""
        if not self.stopped:
            _log.warning("variant %s, instance %s: %s", self.variant, server.id, message)
            server.report_event(kind, message)

    def _end(self) -> None:
        with self._lock:
            server, self.server, self.healthy_server = self.server, None, None
        if server:
            server.end()


async def _wait_for_load(call: Call, invocation: Invocation) -> None:
    """Wait until the model of a call is loaded; record the waiting time. Raise `ApiError`."""
    if call.target_model is not None:
        invocation.model_was_loaded = call.load is None
    if call.load is None:
        return
    started = time.monotonic()
    try:
        done, _ = await asyncio.wait([call.load], timeout=INVOKE_SECONDS)
    finally:
        invocation.loading_seconds = time.monotonic() - started
    if not done:
        raise ApiError(
            "ModelNotReadyException",
            f"Model {call.target_model} is not ready for inference: it is still loading. Retry.",
            status=429,
        )
    try:
        call.load.result()
    except OSError as error:
        raise _no_response_error(error) from None


async def _forward(server: RunningServer, call: Call, invocation: Invocation) -> None:
    """Exchange request and response with the container; record the duration. Raise `ApiError`."""
    connections, connection, is_reusable = server.triton.connections, None, False
    started = time.monotonic()
    try:
        async with asyncio.timeout(invocation.timeout_seconds or INVOKE_SECONDS):
            connection = await connections.take()
            is_reusable = await invocation.forward(connection, call.path)
    except OSError as error:
        raise _no_response_error(error) from None
    finally:
        invocation.model_seconds = time.monotonic() - started
        if connection:
            connections.give_back(connection, is_reusable=is_reusable)


def _no_response_error(error: OSError) -> ApiError:
    if isinstance(error, TimeoutError):
        return model_error(0, TIMEOUT_MESSAGE)
    reason = plain_message(error) or type(error).__name__
    return ApiError("ModelError", f"The container did not answer: {reason}", status=424)


def _was_unloaded(error: ApiError | None) -> bool:
    """Return whether the container has refused an invocation because the model is not loaded."""
    if error is None:
        return False
    status, message = error.fields.get("OriginalStatusCode"), error.fields.get("OriginalMessage")
    return status == 404 or bool(UNKNOWN_MODEL.match(str(message)))
