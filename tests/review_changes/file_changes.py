"""Random changes of one value in the settings files of this repository."""

import json
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from tests.unit.release.review.files.repository import base

SETTINGS = r"\.github/workflows/.*|\.c[\w.]+\.yaml|models/\w+/recipe\.yaml|cdk\.json|package\.json"


@dataclass(frozen=True)
class FileChange:
    """A file with one changed value, and the path of that value."""

    path: str
    content: bytes
    key: str

    @property
    def head(self) -> dict[str, bytes]:
        """All files after the change."""
        return {**base(), self.path: self.content}


def file_changes(seed: int) -> Iterator[FileChange]:
    """Yield a change of one value in each settings file."""
    draw = random.Random(seed)
    for path in sorted(path for path in base() if re.fullmatch(SETTINGS, path)):
        is_json = path.endswith(".json")
        settings = json.loads(base()[path]) if is_json else yaml.safe_load(base()[path])
        steps = draw.choice(list(_leaf_paths(settings)))
        parent = settings
        for step in steps[:-1]:
            parent = parent[step]
        parent[steps[-1]] = _changed_value(parent[steps[-1]])
        text = json.dumps(settings) if is_json else yaml.safe_dump(settings)
        yield FileChange(path, text.encode(), ".".join(map(str, steps)))


def _leaf_paths(value: Any, steps: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(value, dict | list) and value:
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for step, item in items:
            yield from _leaf_paths(item, (*steps, step))
    else:
        yield steps


def _changed_value(value: Any) -> Any:
    match value:
        case bool():
            return not value
        case int() | float():
            return value + 1
        case str():
            return f"{value}x"
    return "x"
