"""Deadlines and retries of calls."""

import random
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, TypeVar

from botocore.retries.quota import RetryQuota

from endpoint_client._errors import EndpointError, ModelNotReady, NoCopies, NotSent, Unsendable

T = TypeVar("T")

MAX_PAUSE = 16.0
"""The longest pause between two attempts, in seconds."""
RETRY_COST = 5
RETRY_BUDGET = 100
"""The retry budget: 20 retries, then one per five successful calls. It limits the load on an
endpoint that rejects all requests. It is a fifth of the capacity of botocore's standard mode."""


class Deadline(AbstractContextManager["Deadline"]):
    """The end of a call, after `seconds` (None for no limit) or by cancellation."""

    def __init__(self, seconds: float | None) -> None:
        self._end = float("inf") if seconds is None else time.monotonic() + seconds
        self._cancelled = threading.Event()

    @classmethod
    def of(cls, timeout: Any) -> "Deadline":
        """Return the deadline of a call; calls of the asyncio client already have a deadline."""
        return timeout if isinstance(timeout, cls) else cls(timeout)

    def remaining(self, maximum: float) -> float:
        """Return the remaining seconds, at most `maximum`. Raises `NotSent` if there are none."""
        remaining = self._end - time.monotonic()
        if remaining <= 0 or self._cancelled.is_set():
            raise NotSent("the call timed out before it was sent")
        return min(remaining, maximum)

    def allows_pause(self, pause: float) -> bool:
        """Return whether a pause ends before the deadline."""
        return time.monotonic() + pause < self._end

    def pause(self, seconds: float) -> None:
        """Wait for the seconds, or until the call is cancelled."""
        self._cancelled.wait(seconds)

    def __exit__(self, *_: object) -> None:
        """Cancel the call: it sends no further request."""
        self._cancelled.set()


class Retries:
    """Retries of `retry_safe` errors, with exponential backoff and jitter.

    For `wait_until_ready` seconds, retries of `ModelNotReady` and `NoCopies` use neither attempts
    nor the budget. After that, `ModelNotReady` is retried like other errors, and `NoCopies` is not
    retried, because a copy takes minutes to start.
    """

    def __init__(self, wait_until_ready: float = 0.0) -> None:
        self._quota, self._wait_until_ready = RetryQuota(RETRY_BUDGET), wait_until_ready

    def call(self, attempt: Callable[[], T], *, attempts: int, deadline: Deadline) -> T:
        """Return the result of the first successful attempt. Raises the last `EndpointError`."""
        ready_deadline = Deadline(self._wait_until_ready)
        retries_left, pauses, cost = attempts - 1, 0, 0
        while True:
            try:
                result = attempt()
            except EndpointError as error:
                pause = min(2**pauses, MAX_PAUSE) * random.uniform(0.5, 1)
                if not error.retry_safe or not deadline.allows_pause(pause):
                    raise
                is_starting = isinstance(error, ModelNotReady | NoCopies)
                if not (is_starting and ready_deadline.allows_pause(pause)):
                    is_permanent = isinstance(error, NoCopies | Unsendable)
                    if is_permanent or retries_left <= 0 or not self._quota.acquire(RETRY_COST):
                        raise
                    retries_left, cost = retries_left - 1, RETRY_COST
            else:
                self._quota.release(cost or 1)
                return result
            deadline.pause(pause)
            pauses += 1
