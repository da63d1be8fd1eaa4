"""Readers of untrusted YAML and JSON files, with bounded cost."""

import csv
import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import yaml

from review.remark import Remark
from review.values import MAX_DEPTH, Unreadable

MAX_BYTES = 1024 * 1024
"""Maximum bytes of a file: three times the largest file of this repository."""
MAX_ALIASES = 8
"""Maximum aliases in a YAML file: nested aliases expand exponentially."""


UNREADABLE = "unreadable_files"


def compared(remarks: Iterator[Remark], rule: str = UNREADABLE) -> Iterator[Remark]:
    """Yield remarks of a file, and a last one if the rest of it cannot be read.

    Programs can accept what these readers refuse, so that nothing may be hidden there.
    """
    try:
        yield from remarks
    except (ValueError, RecursionError, csv.Error) as error:  # also `Unreadable`
        yield Remark(rule, f"not compared: {error}")


def read_text(content: bytes) -> str:
    """Return the text of a file. Raise `Unreadable`."""
    if len(content) > MAX_BYTES:
        raise Unreadable(f"has {len(content):,} bytes, and at most {MAX_BYTES:,} are compared")
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Unreadable("is not UTF-8") from None


def read_yaml(content: bytes) -> Any:
    """Return the value of a YAML file. Raise `Unreadable`."""
    text = read_text(content)
    try:
        _check_bounds(text)
        return yaml.load(text, _UniqueKeys)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise Unreadable(f"line {line} is not YAML: {error.problem}") from None
    except (yaml.YAMLError, TypeError, OverflowError) as error:
        raise Unreadable(f"is not YAML: {type(error).__name__}") from None
    except ValueError as error:  # an invalid number or date, or `Unreadable`
        raise Unreadable(str(error)) from None


class _UniqueKeys(yaml.SafeLoader):
    """A loader that refuses duplicate keys, of which other readers may take another value."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return a mapping. Raise `yaml.constructor.ConstructorError` for a duplicate key."""
        earlier = set[str]()
        for key in (key for key, _ in node.value if isinstance(key, yaml.ScalarNode)):
            if key.value in earlier:
                problem = f"the key {key.value} is there twice"
                raise yaml.constructor.ConstructorError(None, None, problem, key.start_mark)
            earlier.add(key.value)
        return super().construct_mapping(node, deep)


def _check_bounds(text: str) -> None:
    """Raise `Unreadable` if a YAML text has too many aliases or levels to be loaded."""
    aliases = depth = 0
    for event in yaml.parse(text):  # lazy: PyYAML takes quadratic time for nested levels
        aliases += isinstance(event, yaml.AliasEvent)
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if aliases > MAX_ALIASES or depth > MAX_DEPTH:
            raise Unreadable(f"has more than {MAX_ALIASES} aliases or {MAX_DEPTH} levels")


def read_json(content: bytes) -> Any:
    """Return the value of a JSON file. Raise `Unreadable`."""
    try:
        return json.loads(read_text(content), object_pairs_hook=_with_unique_keys)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"is not JSON: {error}") from None


def read_structure(text: str) -> dict[Any, Any] | list[Any] | None:
    """Return the value of a text with JSON, or with YAML of several lines, None of another text."""
    reader = read_json if text.startswith(("{", "[")) else read_yaml if "\n" in text else None
    try:
        value = reader(text.encode(errors="replace")) if reader else None
    except Unreadable:
        return None
    return value if isinstance(value, dict | list) else None


def _with_unique_keys(items: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(items)
    if len(values) < len(items):
        ((key, _),) = Counter(key for key, _ in items).most_common(1)
        raise ValueError(f"the key {key} is there twice")
    return values
