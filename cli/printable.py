"""Safe output of untrusted text on a terminal or a pipe."""

import os
import re

from rich.console import Console
from rich.text import Text

_CONTROL_CHARACTERS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
INDENT = "    "
PIPE_WIDTH = 10_000
"""Columns of a pipe or a file, so that lines are not broken and can be searched."""


def printable(text: str) -> str:
    """Return a text with escaped control characters and indented continuation lines.

    A terminal executes control characters; a new line could imitate a line of the program.
    """
    escaped = _CONTROL_CHARACTERS.sub(lambda match: repr(match[0])[1:-1], text.rstrip("\r\n"))
    return escaped.replace("\n", f"\n{INDENT}")


def unbroken_line(text: str, style: str = "") -> Text:
    """Return a line that is never broken, so that its path or command can be copied."""
    return Text(printable(text), style, no_wrap=True, overflow="ignore")


def console() -> Console:
    """Return a console that breaks lines only on a terminal."""
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = PIPE_WIDTH
    return console
