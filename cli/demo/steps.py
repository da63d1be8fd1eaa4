"""One line a step: what it does, and how long it took."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager


class StepFailed(Exception):
    """A step did not do its work; the message says what failed, where its log is, what to do."""


@contextmanager
def step(title: str, *, counts: bool = True) -> Iterator[None]:
    """Print `title`, count the seconds on a terminal, and close the line with the time taken.

    A step that shows itself what it does counts for itself.
    """
    start = time.monotonic()
    done = threading.Event()
    if not counts:
        done.set()
    ticker = threading.Thread(target=_tick, args=(title, start, done), daemon=True)
    ticker.start()
    try:
        yield
    except BaseException:
        done.set()
        ticker.join()
        print(f"\r✗ {title}", flush=True)
        raise
    done.set()
    ticker.join()
    print(f"\r✓ {title} ({time.monotonic() - start:.1f} s)", flush=True)


def _tick(title: str, start: float, done: threading.Event) -> None:
    while sys.stdout.isatty() and not done.is_set():
        print(f"\r… {title} ({time.monotonic() - start:.0f} s)", end="", flush=True)
        done.wait(1)
