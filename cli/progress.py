"""Progress on stderr: a line for each step done, and a spinner on a terminal."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.status import Status

from model_build.progress import WARNING


class Steps:
    """Steps of one command; `seconds` has how long each that is done took, by its title.

    It is model_build's `Progress`, too: what a build says is shown beside the step's title.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._console = Console(stderr=True, highlight=False)
        self._status: Status | None = None
        self._title = ""

    @contextmanager
    def step(self, title: str, of: str) -> Iterator[None]:
        """Show what runs; where it ends well, say how long it took."""
        self._title = escape(f"{title} {of}")
        start = time.perf_counter()
        with self._console.status(self._title) as self._status:
            yield
        self.seconds[title] = time.perf_counter() - start
        self._console.print(f"[green]✓[/] {self._title} ({self.seconds[title]:.1f} s)")

    def __call__(self, line: str) -> None:
        """Show what a step is doing; a warning stays."""
        if line.startswith(WARNING):
            self._console.print(f"[yellow]![/] {escape(line)}")
        elif self._status:
            self._status.update(f"{self._title}: {escape(line)}")
