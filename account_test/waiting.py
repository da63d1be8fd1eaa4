"""Waits for AWS, and says what changes meanwhile."""

import time
from collections.abc import Callable, Iterator
from typing import Any

from release.delivery.stack_status import in_progress
from release.delivery.steps import say

LONGEST_PAUSE = 5.0
"""Seconds between two calls while something changes: our choice."""


def pauses() -> Iterator[float]:
    """Yield seconds to wait between two calls: few at first."""
    pause = 0.25
    while True:
        yield pause
        pause = min(1.5 * pause, LONGEST_PAUSE)


def wait(name: str, status: Callable[[], str | None]) -> None:
    """Return when `status` is None; say each status before."""
    shown = None
    for pause in pauses():
        now = status()
        if now is None:
            return
        if now != shown:
            say(f"  {name}: {now}")
        shown = now
        time.sleep(pause)


def wait_for_stack(cloudformation: Any, stack: str) -> None:
    """Return when CloudFormation does not change a stack any more."""
    wait("CloudFormation", lambda: next(iter(in_progress(cloudformation, [stack])), None))
