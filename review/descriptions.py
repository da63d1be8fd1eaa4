"""Descriptions of all resource changes of a stage, from the table of describers."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from review.describer_table import describer
from review.describers.generic import both_values, not_described
from review.property_change import Describer, PropertyChange
from review.stack_differences import ResourceChange
from review.values import ValueDifference, value_differences

if TYPE_CHECKING:
    from review.comparison import Comparison

NOT_COMPARED = ("Metadata", "Properties", "Type")


@dataclass(frozen=True)
class ChangeDescription:
    """A description of a changed property; `rule` is empty if the change is not a danger."""

    change: ResourceChange
    path: str
    text: str
    rule: str


def describe_changes(comparison: "Comparison") -> Iterator[ChangeDescription]:
    """Yield all changes in existing stacks, and only the dangers in new stacks.

    A stack that is removed from the app is not described: a deployment does not change it.
    """
    for change in comparison.changes:
        if change.stack not in comparison.after:
            continue
        is_deployed = change.stack in comparison.before and not comparison.is_moved
        lines = (
            (difference.path, line)
            for difference in _differences(change)
            for line in _describer(change, difference.path)(
                PropertyChange(change, comparison, difference.path, *difference[1:])
            )
        )
        for path, line in dict.fromkeys(lines):
            if line.rule or (is_deployed and (not path or (change.before and change.after))):
                yield ChangeDescription(change, path, line.text, line.rule)


def _describer(change: ResourceChange, path: str) -> Describer:
    default = both_values if path else not_described("the properties have descriptions")
    return describer(change.type, path) or default


def _differences(change: ResourceChange) -> Iterator[ValueDifference]:
    """Yield the whole resource, with an empty path, then each property that differs."""
    sides = (change.before, change.after)
    properties = (side.get("Properties", {}) if side else None for side in sides)
    yield ValueDifference((), "", *properties)
    if change.after:
        before, after = (
            {**{key: value for key, value in side.items() if key not in NOT_COMPARED},
             **side.get("Properties", {})}
            for side in sides
        )  # fmt: skip
        has_row = partial(describer, change.type)
        yield from value_differences(before, after, lambda path: has_row(path) is not None)
