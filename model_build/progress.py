"""Progress of a build, line by line."""

import sys
import time
from collections.abc import Callable

WARNING = "warning:"
"""The beginning of a line that a person should read when the work is done."""

Progress = Callable[[str], None]
"""Takes a line about the work that begins now."""


class Printer:
    """Writes lines such as `minilm    3.2 s  exporting ...` to stderr."""

    def __init__(self, title: str) -> None:
        self._title, self._start = title, time.monotonic()

    def __call__(self, line: str) -> None:
        """Write one line."""
        seconds = time.monotonic() - self._start
        print(f"{self._title} {seconds:6.1f} s  {line}", file=sys.stderr, flush=True)  # noqa: T201
