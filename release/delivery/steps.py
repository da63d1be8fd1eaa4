"""One line a step, below whatever the step itself prints."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


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


def say(line: str) -> None:
    """Print a line at once: a workflow's log is read while it runs."""
    print(line, flush=True)  # noqa: T201
