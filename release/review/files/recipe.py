"""Changes of `recipe.yaml`: the source of a model's weights, and the tolerances of conversions."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

import checked_yaml
from model_build.recipe import Recipe
from release.review.files.file_change import FileChange, FileLine
from release.review.files.readers import read_yaml
from release.review.values import Unreadable, format_change, format_value, value_differences

SOURCE = ("from", "repository", "package", "folder", "uri", "path")
"""Fields with the source of weights; for a package, its name without the version."""

Json = dict[str, Any]


def describe(change: FileChange) -> Iterator[FileLine]:
    """Yield changed weight sources, removed hashes, larger tolerances, and all other changes."""
    old, new = _read(change, change.before), _read(change, change.after)
    if change.before is None:
        yield FileLine(f"new, weights: {_origin(new['weights'] or {})}")
        return
    if not change.model_stays:
        return
    yield from _weights(old.pop("weights", None) or {}, new.pop("weights", None) or {})
    yield from _tolerance_lines(old, new)
    for difference in value_differences(old, new):
        if not difference.path.endswith("max_absolute_difference"):
            yield FileLine(str(difference))


def _read(change: FileChange, content: bytes | None) -> Json:
    """Return a recipe with its defaults, empty without content. Raise `Unreadable`."""
    if content is None:
        return {}
    read_yaml(content)  # checks size and aliases
    try:
        recipe = checked_yaml.parse(Path(change.path), content, Recipe)
    except checked_yaml.InvalidFile as error:
        first = error.problems[0]
        raise Unreadable(f"line {first.line}: {first.key}: {first.message}") from None
    return recipe.model_dump(mode="json", by_alias=True)


def _weights(old: Json, new: Json) -> Iterator[FileLine]:
    if not old and not new:
        return
    if _source(old) != _source(new):
        text = f"another source of weights: {format_change(_origin(old), _origin(new))}"
        yield FileLine(text, "other_weights")
        return
    for difference in value_differences({"weights": old}, {"weights": new}):
        is_same = all(old.get(key) == new.get(key) for key in (*SOURCE, "revision"))
        is_lost = difference.after is None or (difference.before is not None and is_same)
        is_pin = "files" in difference.steps and is_lost
        yield FileLine(str(difference), "lost_pins" if is_pin else "")


def _source(weights: Json) -> list[Any]:
    return [str(weights.get(key, "")).partition("==")[0] for key in SOURCE]


def _origin(weights: Json) -> str:
    parts = (weights.get(key) for key in (*SOURCE, "revision"))
    return " ".join(str(part) for part in parts if part) or "none"


def _tolerance_lines(old: Json, new: Json) -> Iterator[FileLine]:
    """Yield changed tolerances of gates, by version folder."""
    before, after = _tolerances(old), _tolerances(new)
    kept = {folder for folder, _ in _steps(new)}
    for folder, gate in dict.fromkeys((*before, *after)):
        was, value = (side.get((folder, gate)) for side in (before, after))
        if value is not None and value != was:
            is_larger = was is not None and not value <= was  # also if the value is NaN
            text = f"{folder}: {gate}: {format_value(was)} -> {format_value(value)}"
            yield FileLine(text, "larger_tolerances" if is_larger else "")
        elif value is None and gate == "gate" and folder in kept:
            yield FileLine(
                f"{folder} is no longer compared with its source model", "larger_tolerances"
            )


def _tolerances(recipe: Json) -> dict[tuple[str, str], float]:
    """Return (version folder, gate) -> the largest tolerance of its files."""
    largest: dict[tuple[str, str], float] = {}
    for folder, step in _steps(recipe):
        for name, part in (("gate", step), ("engine.gate", step.get("engine") or {})):
            if gate := part.get("gate"):
                allowed = gate["max_absolute_difference"]
                largest[folder, name] = max(allowed, largest.get((folder, name), 0))
    return largest


def _steps(recipe: Json) -> Iterator[tuple[str, Json]]:
    """Yield version folder and conversion step of every file of a model."""
    groups = {"": recipe.get("files", {}), **recipe.get("alternatives", {})}
    for alternative, files in groups.items():
        for path, step in files.items():
            folder = str(PurePosixPath(path).parent)
            if step["to"] != "python-packages":
                yield f"{alternative}: {folder}" if alternative else folder, step
