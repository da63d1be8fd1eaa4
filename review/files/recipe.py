"""Changes of `recipe.yaml`: the source of a model's weights, and tolerances of conversions."""

from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import Any

from model_build.recipe import Recipe
from platform_facts.rules import checked_yaml
from review.files.file_change import FileChange, FileLine
from review.files.readers import read_yaml
from review.values import Unreadable, format_change, format_value, value_differences

SOURCE_FIELDS = ("from", "repository", "package", "folder", "uri", "path")
"""Fields of `weights` with the source of the weights."""

Json = dict[str, Any]


def describe(change: FileChange) -> Iterator[FileLine]:
    """Yield changed weight sources, removed hashes, larger tolerances, and all other changes."""
    old, new = _read(change, change.before), _read(change, change.after)
    if change.before is None:
        yield FileLine(f"new, weights: {_origin(new['weights'] or {})}")
        return
    if not change.model_exists:
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
    read_yaml(content)  # raises for too many bytes, aliases or levels
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
        yield FileLine(text, rule="changed_weights_source")
        return
    is_same_revision = all(old.get(key) == new.get(key) for key in (*SOURCE_FIELDS, "revision"))
    for difference in value_differences({"weights": old}, {"weights": new}):
        is_removed = difference.after is None
        is_replaced = difference.before is not None and is_same_revision
        is_lost_pin = "files" in difference.key_path and (is_removed or is_replaced)
        yield FileLine(str(difference), rule="lost_pins" if is_lost_pin else "")


def _source(weights: Json) -> list[Any]:
    """Return the source of weights; for a package, its name without the version."""
    return [str(weights.get(key, "")).partition("==")[0] for key in SOURCE_FIELDS]


def _origin(weights: Json) -> str:
    """Return the source and the revision of weights as text."""
    values = (weights.get(key) for key in (*SOURCE_FIELDS, "revision"))
    return " ".join(str(value) for value in values if value) or "none"


def _tolerance_lines(old: Json, new: Json) -> Iterator[FileLine]:
    """Yield changed tolerances of gates, by version folder."""
    old_tolerances, new_tolerances = _tolerances(old), _tolerances(new)
    folders = {folder for folder, _ in _steps(new)}
    for folder, gate in dict.fromkeys((*old_tolerances, *new_tolerances)):
        before, after = old_tolerances.get((folder, gate)), new_tolerances.get((folder, gate))
        if after is not None and after != before:
            is_larger = before is not None and not after <= before  # also if a value is NaN
            text = f"{folder}: {gate}: {format_value(before)} -> {format_value(after)}"
            yield FileLine(text, rule="larger_tolerances" if is_larger else "")
        elif after is None and gate == "gate" and folder in folders:
            text = f"{folder} is no longer compared with its source model"
            yield FileLine(text, rule="larger_tolerances")


def _tolerances(recipe: Json) -> dict[tuple[str, str], float]:
    """Return (version folder, gate) -> the largest tolerance of its files."""
    largest: dict[tuple[str, str], float] = {}
    for folder, step in _steps(recipe):
        for name, settings in (("gate", step), ("engine.gate", step.get("engine") or {})):
            if gate := settings.get("gate"):
                tolerance = gate["max_absolute_difference"]
                largest[folder, name] = max(tolerance, largest.get((folder, name), 0))
    return largest


def _steps(recipe: Json) -> Iterator[tuple[str, Json]]:
    """Yield version folder and conversion step of every file of a model."""
    groups = {"": recipe.get("files", {}), **recipe.get("alternatives", {})}
    for alternative, files in groups.items():
        for path, step in files.items():
            folder = str(PurePosixPath(path).parent)
            if step["to"] != "python-packages":
                yield f"{alternative}: {folder}" if alternative else folder, step
