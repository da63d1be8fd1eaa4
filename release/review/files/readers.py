"""Values of YAML, JSON and TOML files of a pull request.

Nothing of a file is run, and what its reading may cost is bounded.
"""

import json
import tomllib
from typing import Any

import yaml

from release.review.values import DEEPEST, Unreadable

LARGEST = 1024 * 1024
"""Bytes of a file that is read: three times as many as the largest one here has."""
MOST_ALIASES = 8
"""Aliases in a YAML file: each may stand for a value with aliases, which grows exponentially."""


def read_text(content: bytes) -> str:
    """Return the text of a file. Raises `Unreadable`."""
    if len(content) > LARGEST:
        raise Unreadable(f"has {len(content):,} bytes, and at most {LARGEST:,} are compared")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Unreadable("is not UTF-8") from None


def read_yaml(content: bytes) -> Any:
    """Return the value of a YAML file. Raises `Unreadable`."""
    text = read_text(content)
    try:
        _require_bounds(text)
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise Unreadable(f"line {line} is not YAML: {error.problem}") from None
    except (yaml.YAMLError, TypeError, OverflowError) as error:
        raise Unreadable(f"is not YAML: {type(error).__name__}") from None
    except ValueError as error:  # of a number or a date, or `Unreadable`
        raise Unreadable(str(error)) from None


def _require_bounds(text: str) -> None:
    """Raise `Unreadable` before a file with too many aliases or levels is read as a whole."""
    aliases = depth = 0
    for event in yaml.parse(text):  # the time that PyYAML takes grows with the square of levels
        aliases += isinstance(event, yaml.AliasEvent)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if aliases > MOST_ALIASES or depth > DEEPEST:
            raise Unreadable(f"has more than {MOST_ALIASES} aliases or {DEEPEST} levels")


def read_json(content: bytes) -> Any:
    """Return the value of a JSON file. Raises `Unreadable`."""
    try:
        return json.loads(read_text(content))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"is not JSON: {error}") from None


def read_toml(content: bytes) -> Any:
    """Return the value of a TOML file. Raises `Unreadable`."""
    try:
        return tomllib.loads(read_text(content))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"is not TOML: {error}") from None
