"""Progress output of a delivery: one line per step, and one per minute of waiting."""

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

POLL_SECONDS = 10.0
REPORT_SECONDS = 60.0


@contextmanager
def step(title: str) -> Iterator[None]:
    """Print the title and duration of a step at its end, or that the step failed."""
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

    `deadline` is in `time.monotonic` seconds.
    """
    reported = -math.inf
    while (last_status := status()) and time.monotonic() < deadline:
        if time.monotonic() - reported >= REPORT_SECONDS:
            reported = time.monotonic()
            end = ""
            if deadline < math.inf:
                end = f"; at most {math.ceil((deadline - reported) / 60)} more minutes"
            say(f"  waiting for {name}: {last_status}{end}")
        time.sleep(POLL_SECONDS)
    return last_status


def say(line: str) -> None:
    """Print one line without buffering, because a workflow's log is read while it runs.

    Further lines of foreign text would be commands of GitHub's runner, such as `::error`.
    """
    print(" ".join(line.splitlines()), flush=True)  # noqa: T201
