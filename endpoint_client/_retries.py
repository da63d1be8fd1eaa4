"""How long a call may take, and when a request is sent again."""

import random
import time
from collections.abc import Callable
from typing import TypeVar

from botocore.retries.quota import RetryQuota

from endpoint_client._errors import EndpointError, ModelNotReady, NotSent

T = TypeVar("T")

RETRY_COST = 5
CAPACITY = 100
"""20 retries, then one for five calls that succeed: botocore's standard mode with a fifth of its
capacity. An endpoint that refuses everything gets no more load from retries than that."""


class Deadline:
    """The end of a call that may take `seconds`, None for any number."""

    def __init__(self, seconds: float | None) -> None:
        self._end = float("inf") if seconds is None else time.monotonic() + seconds

    def left(self, most: float) -> float:
        """Return the seconds that are left, `most` at most. Raises `NotSent` for none."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise NotSent("the time of the call is over before it was sent")
        return min(left, most)

    def allows(self, pause: float) -> bool:
        """Return whether there is time left after a pause."""
        return time.monotonic() + pause < self._end


class Retries:
    """Sends again what is safe to send again, with exponential backoff and jitter.

    Retries for a model that is loading cost no budget: SageMaker holds them until it is loaded.
    """

    def __init__(self) -> None:
        self._quota = RetryQuota(CAPACITY)

    def call(self, attempt: Callable[[], T], *, attempts: int, deadline: Deadline) -> T:
        """Return what an attempt returns. Raises `EndpointError` of the last one."""
        number, cost = 1, 0
        while True:
            try:
                result = attempt()
            except EndpointError as error:
                pause = 2 ** (number - 1) * random.uniform(0.5, 1)
                cost = 0 if isinstance(error, ModelNotReady) else RETRY_COST
                again = error.retry_safe and number < attempts and deadline.allows(pause)
                if not again or not self._quota.acquire(cost):
                    raise
            else:
                self._quota.release(cost or 1)
                return result
            time.sleep(pause)
            number += 1
