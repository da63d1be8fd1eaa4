"""Accelerated AWS time: waits and periods are shortened, computation is not."""

import logging
import threading
import time
from collections.abc import Callable

_MIN_PAUSE_SECONDS = 0.05

_log = logging.getLogger(__name__)


class Clock:
    """A clock in AWS's seconds for one operation, such as an update."""

    def __init__(self, speed: float) -> None:
        self._speed = speed
        self._start, self._skipped = time.monotonic(), 0.0

    def now(self) -> float:
        """Return the seconds since an arbitrary moment, as `time.monotonic` does."""
        return time.monotonic() + self._skipped

    def sleep(self, seconds: float, until: threading.Event) -> None:
        """Sleep for `seconds` of AWS's time, or until the event is set."""
        start = time.monotonic()
        if not until.wait(seconds / self._speed):
            self._skipped += seconds - (time.monotonic() - start)

    def wait_until_elapsed(self, seconds: float, until: threading.Event) -> None:
        """Sleep until `seconds` have passed since the clock was created, or the event is set.

        A second of real work counts as `speed` of AWS's seconds.
        """
        until.wait(max(0.0, self._start + seconds / self._speed - time.monotonic()))


class Ticker:
    """A thread that calls `work` at an interval of `seconds` of AWS's time until `stop`.

    The interval is the pause between two calls: slow work delays the next call.
    """

    def __init__(self, work: Callable[[], None], *, seconds: float, speed: float) -> None:
        self._work, self._pause = work, max(seconds / speed, _MIN_PAUSE_SECONDS)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def stop(self) -> None:
        """Stop the thread; return after its last call."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stopping.wait(self._pause):
            try:
                self._work()
            except Exception:  # one failed call must not end the thread
                _log.exception("%s", self._work)
