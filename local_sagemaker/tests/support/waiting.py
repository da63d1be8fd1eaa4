"""Ways to wait for what sends no notification."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

TIMEOUT_SECONDS = 3600.0
"""A timeout that no test reaches, for calls that need one."""

T = TypeVar("T")


def eventually(condition: Callable[[], T]) -> T:
    """Return what `condition` gives once that is true, however long a busy machine takes.

    For what sends no notification, such as a file of another process. The pauses grow to a
    twentieth of a second: a condition may be a call of an API. pytest ends a test that waits for
    ever.
    """
    pause = 0.005
    while not (value := condition()):
        time.sleep(pause)
        pause = min(0.05, 1.5 * pause)
    return value


def runs(pid: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
