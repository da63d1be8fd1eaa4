"""Cached results of slow functions."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

MAX_SHARE = 0.05
"""Maximum share of time that calls of the function may take."""

T = TypeVar("T")
_log = logging.getLogger(__name__)


class CachedLookup(Generic[T]):
    """The cached result of a slow function, at first `initial`.

    Reading a result older than `seconds` calls the function on a thread. A function that takes long
    is called less often.
    """

    def __init__(
        self,
        fetch: Callable[[], T],
        initial: T,
        *,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._fetch, self._latest, self._seconds, self._clock = fetch, initial, seconds, clock
        self._due = clock()
        self._fetching = threading.Lock()

    def latest(self) -> T:
        """Return the last result; if it is too old, start a call of the function."""
        if self._clock() >= self._due and self._fetching.acquire(blocking=False):
            threading.Thread(target=self._run, daemon=True).start()
        return self._latest

    def _run(self) -> None:
        start = self._clock()
        try:
            self._latest = self._fetch()
        except Exception:  # after any error, the next call is the retry
            _log.exception("%s", self._fetch)
        finally:
            duration = self._clock() - start
            self._due = start + max(self._seconds, duration / MAX_SHARE)
            self._fetching.release()
