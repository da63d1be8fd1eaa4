"""Progress lines of a build."""

import sys
import time
from collections.abc import Callable
from typing import Self

from rich import progress as rich_progress
from rich.console import Console
from rich.markup import escape

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


class ProgressBar:
    """A bar of the finished models of several, with the current piece of work, on stderr.

    Warnings remain visible above it.
    """

    def __init__(self, total: int) -> None:
        self._console = Console(stderr=True, highlight=False)
        self._bar = rich_progress.Progress(
            rich_progress.BarColumn(),
            rich_progress.MofNCompleteColumn(),
            rich_progress.TimeRemainingColumn(),
            rich_progress.TextColumn("{task.description}"),
            console=self._console,
        )
        self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def advance(self) -> None:
        """Count a model as finished."""
        self._bar.advance(self._task)

    def of(self, model: str) -> Progress:
        """Return the progress of one model."""

        def show(line: str) -> None:
            if WARNING in line:
                self._console.print(f"{escape(model)}: {escape(line)}")
            self._bar.update(self._task, description=escape(f"{model}: {line}"[:80]))

        return show
