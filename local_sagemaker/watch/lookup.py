"""Cached results of slow look-ups."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Generic, TypeVar

SHARE = 0.05
"""Maximum share of time spent in look-ups."""

T = TypeVar("T")
_log = logging.getLogger(__name__)


class Lookup(Generic[T]):
    """A cached look-up: reading a result older than `seconds` starts a new look-up on a thread.

    Without reads, there are no look-ups. Slow look-ups have a longer interval.
    """

    def __init__(
        self,
        look: Callable[[], T],
        first: T,
        *,
        seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._look, self._latest, self._seconds, self._clock = look, first, seconds, clock
        self._due = clock()
        self._looking = threading.Lock()

    def latest(self) -> T:
        """Return the last result, and start a new look-up if it is due."""
        if self._clock() >= self._due and self._looking.acquire(blocking=False):
            threading.Thread(target=self._run, daemon=True).start()
        return self._latest

    def _run(self) -> None:
        start = self._clock()
        try:
            self._latest = self._look()
        except Exception:  # any error: try again later
            _log.exception("%s", self._look)
        finally:
            duration = self._clock() - start
            self._due = start + max(self._seconds, duration / SHARE)
            self._looking.release()
