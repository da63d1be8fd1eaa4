"""Deadlines and retries of a call."""

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
RETRY_COST = 5
CAPACITY = 100
"""20 retries, then one for five calls that succeed: botocore's standard mode with a fifth of its
capacity. An endpoint that refuses everything gets no more load from retries than that."""


class Deadline(AbstractContextManager["Deadline"]):
    """The end of a call that may take `seconds`, None for any number, or that is cancelled."""

    def __init__(self, seconds: float | None) -> None:
        self._end = float("inf") if seconds is None else time.monotonic() + seconds
        self._cancelled = threading.Event()

    @classmethod
    def of(cls, timeout: Any) -> "Deadline":
        """Return the deadline of a call, which a coroutine's already has."""
        return timeout if isinstance(timeout, cls) else cls(timeout)

    def left(self, most: float) -> float:
        """Return the seconds that are left, `most` at most. Raises `NotSent` for none."""
        left = self._end - time.monotonic()
        if left <= 0 or self._cancelled.is_set():
            raise NotSent("the call timed out before it was sent")
        return min(left, most)

    def allows(self, pause: float) -> bool:
        """Return whether there is time left after a pause."""
        return time.monotonic() + pause < self._end

    def pause(self, seconds: float) -> None:
        """Wait for so long, or until the call is cancelled."""
        self._cancelled.wait(seconds)

    def __exit__(self, *_: object) -> None:
        """Cancel what is left of the call: no request follows one that is in progress."""
        self._cancelled.set()


class Retries:
    """Sends again what is safe to send again, with exponential backoff and jitter.

    For `wait_until_ready` seconds, a model that is loading or has no copy is neither limited in
    attempts nor charged to the budget. After that, and by default, the first is retried as anything
    else is, and the second not at all: a copy takes minutes to start.
    """

    def __init__(self, wait_until_ready: float = 0.0) -> None:
        self._quota, self._wait = RetryQuota(CAPACITY), wait_until_ready

    def call(self, attempt: Callable[[], T], *, attempts: int, deadline: Deadline) -> T:
        """Return what an attempt returns. Raises `EndpointError` of the last one."""
        number, pauses, cost, ready = 1, 0, 0, Deadline(self._wait)
        while True:
            try:
                result = attempt()
            except EndpointError as error:
                pause = min(2**pauses, MAX_PAUSE) * random.uniform(0.5, 1)
                if not error.retry_safe or not deadline.allows(pause):
                    raise
                if not (isinstance(error, ModelNotReady | NoCopies) and ready.allows(pause)):
                    lasting = isinstance(error, NoCopies | Unsendable)
                    if lasting or number >= attempts or not self._quota.acquire(RETRY_COST):
                        raise
                    number, cost = number + 1, RETRY_COST
            else:
                self._quota.release(cost or 1)
                return result
            deadline.pause(pause)
            pauses += 1
