"""`recipe.yaml`: the origin of a model's weights, and the tolerances of its conversions."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import checked_yaml
from model_build.recipe import Recipe
from release.review.files.file_change import FileChange, FileLine
from release.review.files.readers import read_yaml
from release.review.values import Unreadable, arrow, differences, text_of

SOURCE = ("from", "repository", "package", "folder", "uri", "path")
"""Fields with the origin of weights; of a package, its name without the version."""

Plain = dict[str, Any]


def describe(change: FileChange) -> Iterator[FileLine]:
    """Yield changed sources of weights, removed hashes, larger tolerances, and all other
    changes."""
    old, new = _read(change, change.before), _read(change, change.after)
    if change.before is None:
        yield FileLine(f"new, weights: {_origin(new['weights'] or {})}")
        return
    if not change.model_stays:
        return
    yield from _weights(old.pop("weights", None) or {}, new.pop("weights", None) or {})
    yield from _gates(old, new)
    for difference in differences(old, new):
        if not difference.path.endswith("max_absolute_difference"):
            yield FileLine(str(difference))


def _read(change: FileChange, content: bytes | None) -> Plain:
    """Return a recipe with its defaults, empty if there is none. Raise `Unreadable`."""
    if content is None:
        return {}
    read_yaml(content)  # checks its size and aliases
    try:
        recipe = checked_yaml.parse(Path(change.path), content, Recipe)
    except checked_yaml.InvalidFile as error:
        first = error.problems[0]
        raise Unreadable(f"line {first.line}: {first.key}: {first.message}") from None
    return recipe.model_dump(mode="json", by_alias=True)


def _weights(old: Plain, new: Plain) -> Iterator[FileLine]:
    if not old and not new:
        return
    if _source(old) != _source(new):
        text = f"weights come from elsewhere: {arrow(_origin(old), _origin(new))}"
        yield FileLine(text, "other_weights")
        return
    for difference in differences({"weights": old}, {"weights": new}):
        is_same = all(old.get(key) == new.get(key) for key in (*SOURCE, "revision"))
        is_lost = difference.after is None or (difference.before is not None and is_same)
        is_pin = "files" in difference.steps and is_lost
        yield FileLine(str(difference), "lost_pins" if is_pin else "")


def _source(weights: Plain) -> list[Any]:
    return [str(weights.get(key, "")).partition("==")[0] for key in SOURCE]


def _origin(weights: Plain) -> str:
    parts = (weights.get(key) for key in (*SOURCE, "revision"))
    return " ".join(str(part) for part in parts if part) or "none"


def _gates(old: Plain, new: Plain) -> Iterator[FileLine]:
    """Yield gates whose tolerance changes, by version folder."""
    before, after = _differences_allowed(old), _differences_allowed(new)
    kept = {folder for folder, _ in _steps(new)}
    for folder, gate in dict.fromkeys((*before, *after)):
        was, now = (side.get((folder, gate)) for side in (before, after))
        if now is not None and now != was:
            is_larger = was is not None and not now <= was  # `not <=`, so that NaN counts as larger
            text = f"{folder}: {gate}: {text_of(was)} -> {text_of(now)}"
            yield FileLine(text, "larger_tolerances" if is_larger else "")
        elif now is None and gate == "gate" and folder in kept:
            yield FileLine(f"{folder} is no longer compared with its origin", "larger_tolerances")


def _differences_allowed(recipe: Plain) -> dict[tuple[str, str], float]:
    """Return (version folder, gate) -> the largest tolerance of its files."""
    largest: dict[tuple[str, str], float] = {}
    for folder, step in _steps(recipe):
        for name, part in (("gate", step), ("engine.gate", step.get("engine") or {})):
            if gate := part.get("gate"):
                allowed = gate["max_absolute_difference"]
                largest[folder, name] = max(allowed, largest.get((folder, name), 0))
    return largest


def _steps(recipe: Plain) -> Iterator[tuple[str, Plain]]:
    """Yield version folder and step of every file of a model."""
    groups = {"": recipe.get("files", {}), **recipe.get("alternatives", {})}
    for alternative, files in groups.items():
        for path, step in files.items():
            folder = str(PurePosixPath(path).parent)
            if step["to"] != "python-packages":
                yield f"{alternative}: {folder}" if alternative else folder, step
