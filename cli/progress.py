"""Progress on stderr: a line for each finished step, and a spinner on a terminal."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from model_build.progress import WARNING


class Steps:
    """Steps of one command; `seconds` maps the title of each finished step to its duration.

    Also a `model_build.progress.Progress`: build messages appear next to the step's title.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._console = Console(stderr=True, highlight=False)
        self._status: Status | None = None
        self._title = ""

    @contextmanager
    def step(self, title: str, subject: str) -> Iterator[None]:
        """Show a running step; print its duration if it succeeds."""
        self._title = escape(f"{title} {subject}")
        start = time.perf_counter()
        with self._console.status(self._title) as self._status:
            yield
        self.seconds[title] = time.perf_counter() - start
        self._console.print(f"[green]✓[/] {self._title} ({self.seconds[title]:.1f} s)")

    def __call__(self, line: str) -> None:
        """Update the status line; print warnings permanently."""
        if line.startswith(WARNING):
            self._console.print(f"[yellow]![/] {escape(line)}")
        elif self._status:
            self._status.update(f"{self._title}: {escape(line)}")
