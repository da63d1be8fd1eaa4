"""How long work says what it is doing."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

WARNING = "warning:"
"""What a line begins with that a person should read when the work is done."""
Counter = Callable[[int], None]
"""Takes how many bytes are done beyond those that it was told of before."""


class Progress(Protocol):
    """Takes one line that says what begins now, and measures work of a known size."""

    def __call__(self, line: str, /) -> None:
        """Say that something begins."""

    def measure(self, what: str, *, total: int) -> AbstractContextManager[Counter]:
        """Return a context in which a `Counter` says how much of `total` bytes is done."""


class Printer:
    """Writes lines such as `minilm    3.2 s  exporting ...` to stderr.

    Measured work is one line that a terminal sees grow, and that a log gets every 10 seconds.
    """

    LOG_SECONDS = 10
    TERMINAL_SECONDS = 0.1
    BAR = 24

    def __init__(self, title: str) -> None:
        self._title, self._start = title, time.monotonic()

    def __call__(self, line: str) -> None:
        """Write one line."""
        self._write(line, end="\n")

    @contextmanager
    def measure(self, what: str, *, total: int) -> Iterator[Counter]:
        """Show how much of `total` bytes is done."""
        terminal = sys.stderr.isatty()
        pause = self.TERMINAL_SECONDS if terminal else self.LOG_SECONDS
        done, said = 0, time.monotonic()

        def count(amount: int) -> None:
            nonlocal done, said
            done += amount
            if time.monotonic() - said >= pause:
                said = time.monotonic()
                self._write(self._bar(what, done, total), end="\r" if terminal else "\n")

        self._write(what, end="\r" if terminal else "\n")
        yield count
        if terminal:
            self._write(self._bar(what, done, total), end="\n")

    def _bar(self, what: str, done: int, total: int) -> str:
        share = min(done / total, 1) if total else 1
        bar = ("=" * round(share * self.BAR)).ljust(self.BAR)
        return f"{what} [{bar}] {share:4.0%} of {total / 1e6:.1f} MB"

    def _write(self, line: str, *, end: str) -> None:
        seconds = time.monotonic() - self._start
        text = f"{self._title} {seconds:6.1f} s  {line}"
        print(text, end=end, file=sys.stderr, flush=True)  # noqa: T201
