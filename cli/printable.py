"""Safe output of untrusted text on a terminal or a pipe.

Text of models, archives, AWS and packages could contain commands for the terminal, or characters
that reorder a line. `protect_output` escapes them in everything that this process prints.
"""

import os
import sys
from collections.abc import Iterable
from typing import Any, TextIO, cast

from rich.console import Console
from rich.segment import Segment
from rich.text import Text

from review.escaping import escape, printable

PIPE_WIDTH = 10_000
"""Columns of a pipe or a file, so that lines are not broken and can be searched."""


def protect_output() -> None:
    """Escape unsafe characters in all output of this process, but not rich's own commands."""
    sys.stdout = cast(TextIO, _EscapingStream(sys.stdout))
    sys.stderr = cast(TextIO, _EscapingStream(sys.stderr))
    render = Console.render

    def render_escaped(self: Console, *args: Any, **options: Any) -> Iterable[Segment]:
        for segment in render(self, *args, **options):
            text, style, control = segment
            yield segment if control else Segment(escape(text), style)

    Console.render = render_escaped  # type: ignore[method-assign]


class _EscapingStream:
    """A text stream that escapes unsafe characters.

    rich writes to `rich_proxied_file` of a stream that has it (rich.console.Console.file), so that
    its commands for colours and spinners reach the terminal.
    """

    def __init__(self, stream: TextIO) -> None:
        self.rich_proxied_file = stream

    def write(self, text: str) -> int:
        """Write a text."""
        return self.rich_proxied_file.write(escape(text))

    def writelines(self, lines: Iterable[str]) -> None:
        """Write texts."""
        self.rich_proxied_file.writelines(map(escape, lines))

    def __getattr__(self, name: str) -> Any:
        return getattr(self.rich_proxied_file, name)


def unbroken_line(text: str, style: str = "") -> Text:
    """Return a line that is never broken, so that its path or command can be copied."""
    return Text(printable(text), style, no_wrap=True, overflow="ignore")


def console() -> Console:
    """Return a console that breaks lines only on a terminal."""
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPE_WIDTH
    return console
