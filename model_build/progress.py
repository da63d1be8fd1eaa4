"""How long work says what it is doing."""

import sys
import time
from collections.abc import Callable

Progress = Callable[[str], None]
"""Takes one line that says what begins now."""


def printer(title: str) -> Progress:
    """Return a `Progress` that writes lines such as `minilm   3.2 s  exporting ...` to stderr."""
    start = time.monotonic()

    def say(line: str) -> None:
        seconds = time.monotonic() - start
        print(f"{title} {seconds:6.1f} s  {line}", file=sys.stderr, flush=True)  # noqa: T201

    return say
