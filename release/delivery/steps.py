"""The lines that a delivery prints: one a step, and one a minute while it waits."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

POLL_SECONDS = 10.0
REPORT_SECONDS = 60.0


@contextmanager
def step(title: str) -> Iterator[None]:
    """Close with a line that says whether the step was done, and how long it took."""
    start = time.monotonic()
    try:
        yield
    except BaseException:
        say(f"✗ {title}")
        raise
    say(f"✓ {title} ({time.monotonic() - start:.1f} s)")


def wait_while(
    name: str, status: Callable[[], str | None], *, deadline: float = math.inf
) -> str | None:
    """Wait until `status` returns None or `deadline` has passed; return the last status.

    `deadline` is as `time.monotonic` counts.
    """
    reported = -math.inf
    while (current := status()) and time.monotonic() < deadline:
        if time.monotonic() - reported >= REPORT_SECONDS:
            reported = time.monotonic()
            say(f"  waiting for {name}: {current}")
        time.sleep(POLL_SECONDS)
    return current


def say(line: str) -> None:
    """Print a line at once: a workflow's log is read while it runs."""
    print(line, flush=True)  # noqa: T201
