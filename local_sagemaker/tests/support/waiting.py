"""Polling of conditions."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

TIMEOUT_SECONDS = 3600.0
"""A timeout that no test reaches, for calls that need one."""
LIMIT_SECONDS = 300.0
"""Waits of tests take seconds, on a busy machine a minute: later, nothing will come."""

T = TypeVar("T")


def eventually(condition: Callable[[], T]) -> T:
    """Call `condition` until its result is true, and return the result.

    The pauses grow to 0.05 s. A condition that stays false is an `AssertionError`.
    """
    pause, end = 0.005, time.perf_counter() + LIMIT_SECONDS
    while not (value := condition()):
        assert time.perf_counter() < end, f"the condition is still false after {LIMIT_SECONDS} s"
        time.sleep(pause)
        pause = min(0.05, 1.5 * pause)
    return value


def runs(pid: int) -> bool:
    """Return whether a process runs; a zombie process does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
