"""What a line says: level and message, without the rest of what Triton writes before it."""

import json
import re
from typing import NamedTuple

ERRORS = "%^E[0-9]{4}%"
"""The filter pattern of Triton's errors: a regular expression (CloudWatch Logs' user guide,
FilterAndPatternSyntax)."""
LEVELS = {"I": "info", "W": "warning", "E": "error"}
_TRITON = re.compile(r"([IWE])\d{4} \d\d:\d\d:\d\d\.\d{6} \d+ [^\s:]+:\d+\] (.*)", re.S)
"""Source: triton-inference-server/common, src/logging.cc, LogMessage: the level, month and day, the
time, a process, file and line."""


class Line(NamedTuple):
    """`level` is info, warning or error, and nothing where the line is not Triton's own."""

    level: str
    text: str


def line(message: str) -> Line:
    """Read a log event's message."""
    found = _TRITON.match(message)
    if found is None:
        return Line("", message)
    return Line(LEVELS[found[1]], _unescaped(found[2]))


def _unescaped(text: str) -> str:
    """Return what Triton has written as a JSON string, which newer releases do."""
    try:
        read = json.loads(text)
    except ValueError:
        return text
    return read if isinstance(read, str) else text
