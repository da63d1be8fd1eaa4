"""Functions that read the TOML files of this package and look rows up by name."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from platform_facts._errors import UnknownFact

Row = TypeVar("Row")

# Maximum number of known names in an error message that has a close match.
_FEW = 40


@cache
def read_table(file_name: str) -> dict[str, Any]:
    """Return a TOML file of this package, cached: callers must not change the result."""
    # Path instead of importlib.resources, whose import would slow down every synthesis.
    return tomllib.loads(Path(__file__).with_name(file_name).read_text(encoding="utf-8"))


def find(kind: str, name: str, rows: Mapping[str, Row]) -> Row:
    """Return the row with this name. Raise UnknownFact with the closest names."""
    if name in rows:
        return rows[name]
    raise UnknownFact(_unknown(kind, name, tuple(rows)))


def _unknown(kind: str, name: str, known: tuple[str, ...]) -> str:
    from difflib import get_close_matches  # only a look-up that fails pays for this import

    close = get_close_matches(name, known, cutoff=0.7)
    hint = f": did you mean {' or '.join(close)}?" if close else "."
    everything = f" Known: {', '.join(known)}" if len(known) <= _FEW or not close else ""
    return f'no {kind} "{name}"{hint}{everything}'
