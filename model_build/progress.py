"""Progress lines of a build."""

import sys
import time
from collections.abc import Callable

WARNING = "warning:"
"""Prefix of lines that remain visible after the build."""

Progress = Callable[[str], None]
"""A function that receives a line when a piece of work starts."""


class Printer:
    """Writer of lines such as `minilm    3.2 s  exporting ...` to stderr."""

    def __init__(self, title: str) -> None:
        self._title, self._start = title, time.monotonic()

    def __call__(self, line: str) -> None:
        """Write one line."""
        seconds = time.monotonic() - self._start
        print(f"{self._title} {seconds:6.1f} s  {line}", file=sys.stderr, flush=True)  # noqa: T201
