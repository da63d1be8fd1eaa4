"""Waiting for AWS operations, with output of each status change."""

import time
from collections.abc import Callable, Iterator
from typing import Any

from release.delivery.stack_status import operations_in_progress
from release.delivery.steps import say

MAX_PAUSE = 5.0
"""Seconds between two calls while an operation is in progress. Our choice."""


def pauses() -> Iterator[float]:
    """Yield increasing pauses between two calls, in seconds."""
    pause = 0.25
    while True:
        yield pause
        pause = min(1.5 * pause, MAX_PAUSE)


def wait(name: str, status: Callable[[], str | None]) -> None:
    """Return when `status` is None; print each status change."""
    previous = None
    for pause in pauses():
        current = status()
        if current is None:
            return
        if current != previous:
            say(f"  {name}: {current}")
        previous = current
        time.sleep(pause)


def wait_for_stack(cloudformation: Any, stack: str) -> None:
    """Wait until CloudFormation has no operation in progress on a stack."""
    wait(
        "CloudFormation", lambda: next(iter(operations_in_progress(cloudformation, [stack])), None)
    )
