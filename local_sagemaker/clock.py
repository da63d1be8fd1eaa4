"""Simulated time of AWS: waits and periods are shortened, computation is not."""

import logging
import threading
import time
from collections.abc import Callable

_DEFAULT = 60.0
_SHORTEST_PAUSE = 0.05

_log = logging.getLogger(__name__)


class Clock:
    """The time of one update, in AWS's seconds."""

    def __init__(self, speed: float = _DEFAULT) -> None:
        self._speed = speed
        self._begun, self._ahead = time.monotonic(), 0.0

    def now(self) -> float:
        """Return the seconds since some moment."""
        return time.monotonic() + self._ahead

    def sleep(self, seconds: float, until: threading.Event) -> None:
        """Let `seconds` pass, or less if the event is set."""
        begun = time.monotonic()
        if not until.wait(seconds / self._speed):
            self._ahead += seconds - (time.monotonic() - begun)

    def fill(self, seconds: float, until: threading.Event) -> None:
        """Return when `seconds` have passed since the clock was made, or the event is set.

        What took its time counts for as many of AWS's seconds as pass meanwhile.
        """
        until.wait(max(0.0, self._begun + seconds / self._speed - time.monotonic()))


class Ticker:
    """Calls `work` on a thread of its own, every so many of AWS's seconds, until it is stopped.

    Where the work takes longer than that, as on a busy machine, the next call follows at once.
    """

    def __init__(self, work: Callable[[], None], *, seconds: float, speed: float) -> None:
        self._work, self._pause = work, max(seconds / speed, _SHORTEST_PAUSE)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Return when the work has been called for the last time."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(self._pause):
            try:
                self._work()
            except Exception:  # what fails once must not end all that comes later
                _log.exception("%s", self._work)
