"""What a check found."""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    """`MISSING` is what `make demo` cannot do without."""

    OK = "ok"
    WARNING = "warning"
    MISSING = "missing"


@dataclass(frozen=True)
class Finding:
    """One row: what was looked at, what was found, and what to do; nothing where it is ok."""

    check: str
    state: State
    found: str
    do: str = ""


def ok(check: str, found: str) -> Finding:
    """Return a row of what is as it should be."""
    return Finding(check, State.OK, found)


def warning(check: str, found: str, do: str) -> Finding:
    """Return a row of what one can live with."""
    return Finding(check, State.WARNING, found, do)


def missing(check: str, found: str, do: str) -> Finding:
    """Return a row of what the demo would fail of."""
    return Finding(check, State.MISSING, found, do)
