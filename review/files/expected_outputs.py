"""Changes of `tests/golden.json`: the outputs that are expected from a model after a deployment."""

from collections.abc import Iterator
from typing import Any

from review.files.file_change import FileChange, FileLine
from review.files.readers import read_json
from review.values import Unreadable, ValueDifference, value_differences

TOLERANCE = "max_relative_difference"


def describe(change: FileChange) -> Iterator[FileLine]:
    """Yield removed checks, larger tolerances, changed outputs, and all other changes."""
    old, new = _read(change.before), _read(change.after)
    if change.after is None:
        if change.model_exists:
            yield FileLine(
                "deleted: the model's outputs are no longer compared after a deployment",
                rule="weakened_checks",
            )
        return
    yield from _output_lines(old.pop("outputs", {}), new.pop("outputs", {}))
    for difference in value_differences(old, new):
        is_larger = change.before is not None and _is_larger_tolerance(difference)
        yield FileLine(str(difference), rule="larger_tolerances" if is_larger else "")


def _is_larger_tolerance(difference: ValueDifference) -> bool:
    """Return whether the tolerance is larger, removed, or no longer a number."""
    old, new = difference.before, difference.after
    if difference.key_path != (TOLERANCE,):
        return False
    return not (isinstance(old, int | float) and isinstance(new, int | float) and new <= old)


def _output_lines(old: dict[str, Any], new: dict[str, Any]) -> Iterator[FileLine]:
    """Yield changed outputs.

    A removed output is only a danger if fewer values are compared in total, as it may be renamed.
    """
    old_total, new_total = (
        sum(len(output["data"]) for output in side.values()) for side in (old, new)
    )
    for name in dict.fromkeys((*old, *new)):
        old_count, new_count = (
            len(side[name]["data"]) if name in side else 0 for side in (old, new)
        )
        if new_count < old_count and (name in new or new_total < old_total):
            text = f"fewer values of the output {name} are compared: {old_count} -> {new_count}"
            yield FileLine(text, rule="weakened_checks")
        elif name not in new or name not in old:
            yield FileLine(f"the output {name} is {'new' if name in new else 'removed'}")
        elif old.get(name) != new.get(name):
            yield FileLine(f"the expected values of the output {name} change")


def _read(content: bytes | None) -> dict[str, Any]:
    """Return the fields of a file. Raise `Unreadable`."""
    fields = {} if content is None else read_json(content)
    outputs = fields.get("outputs", {}) if isinstance(fields, dict) else None
    if not isinstance(outputs, dict):
        raise Unreadable("has no object `outputs` with the names of outputs as keys")
    for name, output in outputs.items():
        if not (isinstance(output, dict) and isinstance(output.get("data"), list)):
            raise Unreadable(f"outputs.{name} has no list of data")
    return dict(fields)
