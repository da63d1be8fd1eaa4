"""Functions that read the TOML files of this package and look rows up by name."""

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

from platform_facts._errors import UnknownFact

Row = TypeVar("Row")

_MAX_LISTED_NAMES = 40
"""Maximum number of names that an error lists after close matches."""


@cache
def read_table(file_name: str) -> dict[str, Any]:
    """Return a TOML file of this package, cached: callers must not change the result."""
    # Path instead of importlib.resources, whose import would slow down every synthesis.
    return tomllib.loads(Path(__file__).with_name(file_name).read_text(encoding="utf-8"))


def find(kind: str, name: str, rows: Mapping[str, Row]) -> Row:
    """Return the row with this name. Raise `UnknownFact` with the closest names."""
    if not isinstance(name, str):
        raise UnknownFact(f'{kind}: {name!r} is not text: write "{name}", in quotes')
    if name in rows:
        return rows[name]
    raise UnknownFact(_unknown_message(kind, name, tuple(rows)))


def _unknown_message(kind: str, name: str, names: tuple[str, ...]) -> str:
    from difflib import get_close_matches  # slow to import, used for errors only

    close = get_close_matches(name, names, cutoff=0.7)
    hint = f": did you mean {' or '.join(close)}?" if close else "."
    all_names = (
        f" Known: {', '.join(names)}" if len(names) <= _MAX_LISTED_NAMES or not close else ""
    )
    return f'no {kind} "{name}"{hint}{all_names}'
