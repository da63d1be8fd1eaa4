"""Text from untrusted sources, made safe for a terminal or a pipe."""

import os
import re

from rich.console import Console
from rich.text import Text

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
INDENT = "    "
WIDE = 10_000
"""Columns of a pipe or a file: who searches or copies from it needs whole lines."""


def printable(text: str) -> str:
    """Return a text whose control characters are escaped, and whose later lines are indented.

    A terminal obeys some of them, and a line that begins as others do would pass for one.
    """
    escaped = _CONTROL.sub(lambda each: repr(each[0])[1:-1], text.rstrip("\r\n"))
    return escaped.replace("\n", f"\n{INDENT}")


def whole_line(text: str, style: str = "") -> Text:
    """Return a line with a path or a command, which is copied: it is not broken."""
    return Text(printable(text), style, no_wrap=True, overflow="ignore")


def console() -> Console:
    """Return a console that breaks lines for a terminal alone."""
    console = Console(highlight=False)
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = WIDE
    return console
