"""Values of YAML, JSON and TOML files of a pull request, and where two of them differ.

Nothing of a file is run, and what its reading may cost is bounded.
"""

import json
import tomllib
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from typing import Any, NamedTuple

import yaml

LARGEST = 256 * 1024
"""Bytes of a file that is read: the largest one here has 100 kB."""
MOST_ALIASES = 8
"""Aliases in a YAML file: each may stand for a value with aliases, which grows exponentially."""
DEEPEST = 40
MOST_ITEMS = 1000
"""Items of a list that is compared item by item, which may take the square of their number."""
LONGEST = 120
"""Characters of a value that is shown."""

Reader = Callable[[bytes], Any]


class Unreadable(ValueError):
    """A file is not what its name says, or is too large."""


class ValueDifference(NamedTuple):
    """A value at a path that differs; None where there is none."""

    path: tuple[str, ...]
    before: Any
    after: Any

    def __str__(self) -> str:
        return f"{'.'.join(self.path)}: {arrow(self.before, self.after)}"


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
    except json.JSONDecodeError as error:
        raise Unreadable(f"line {error.lineno} is not JSON: {error.msg}") from None
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"is not JSON: {error}") from None


def read_toml(content: bytes) -> Any:
    """Return the value of a TOML file. Raises `Unreadable`."""
    try:
        return tomllib.loads(read_text(content))
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"is not TOML: {error}") from None


def differences(before: Any, after: Any, path: tuple[str, ...] = ()) -> Iterator[ValueDifference]:
    """Yield where two values differ; what comes or goes is yielded by its parts.

    Raises `Unreadable` for values that are nested too deeply.
    """
    if repr(before) == repr(after):
        return
    if len(path) > DEEPEST:
        raise Unreadable(f"is nested in more than {DEEPEST} levels")
    match before, after:
        case (dict(), dict() | None) | (None, dict()) if before or after:
            old, new = before or {}, after or {}
            for key in dict.fromkeys((*old, *new)):
                yield from differences(old.get(key), new.get(key), (*path, str(key)))
        case (list(), list() | None) | (None, list()) if before or after:
            for number, was, now in _aligned(before or [], after or []):
                yield from differences(was, now, (*path, str(number)))
        case _:
            yield ValueDifference(path, before, after)


def _aligned(before: list[Any], after: list[Any]) -> Iterator[tuple[int, Any, Any]]:
    """Yield number and both sides of items that differ; those of scalars come or go as a whole."""
    if max(len(before), len(after)) > MOST_ITEMS:
        raise Unreadable(f"has a list of more than {MOST_ITEMS} items")
    texts = [repr(item) for item in before], [repr(item) for item in after]
    matcher = SequenceMatcher(None, texts[0], texts[1], autojunk=False)
    for tag, low, high, start, end in matcher.get_opcodes():
        if tag == "equal":
            continue
        old, new = before[low:high], after[start:end]
        pairs = len(old) == len(new) and not any(map(_is_scalar, (*old, *new)))
        for offset, item in enumerate(old):
            yield low + offset, item, new[offset] if pairs else None
        for offset, item in enumerate(() if pairs else new):
            yield start + offset, None, item


def _is_scalar(value: Any) -> bool:
    return not isinstance(value, dict | list)


def arrow(before: Any, after: Any) -> str:
    """Return two values as text, with `none` for what is not there."""
    return f"{shown(before)} -> {shown(after)}"


def shown(value: Any) -> str:
    """Return a value as one line of text."""
    match value:
        case None:
            return "none"
        case bool():
            return str(value).lower()
        case float():
            return f"{value:g}"
    text = " ".join(str(value).split())
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
