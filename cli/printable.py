"""What others have written, on a terminal."""

import re

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
INDENT = "    "


def printable(text: str) -> str:
    """Return a text whose control characters are escaped, and whose later lines are indented.

    A terminal obeys some of them, and a line that begins as others do would pass for one.
    """
    escaped = _CONTROL.sub(lambda it: repr(it[0])[1:-1], text.rstrip("\r\n"))
    return escaped.replace("\n", f"\n{INDENT}")
