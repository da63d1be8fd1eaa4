"""Describe every resource change of a stage, by the table of describers."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from release.review.describers.generic import shown, silent
from release.review.differences import Change
from release.review.property_change import Describer, PropertyChange
from release.review.table import describer
from release.review.values import ValueDifference, differences

if TYPE_CHECKING:
    from release.review.comparison import Comparison

NOT_COMPARED = ("Metadata", "Properties", "Type")


@dataclass(frozen=True)
class DescribedChange:
    """A description of a resource change; `rule` names its danger, empty if it is none."""

    change: Change
    path: str
    text: str
    rule: str


def described(comparison: "Comparison") -> Iterator[DescribedChange]:
    """Yield all changes in stacks that stay, and the dangers in new stacks.

    A deploy does not touch the resources of a stack that leaves the app.
    """
    for change in comparison.changes:
        if change.stack not in comparison.after:
            continue
        stays = change.stack in comparison.before and not comparison.moves
        lines = (
            (difference.path, line)
            for difference in _differences(change)
            for line in _describer(change, difference.path)(
                PropertyChange(change, comparison, difference.path, *difference[1:])
            )
        )
        for path, line in dict.fromkeys(lines):
            if line.rule or (stays and (not path or (change.before and change.after))):
                yield DescribedChange(change, path, line.text, line.rule)


def _describer(change: Change, path: str) -> Describer:
    default = shown if path else silent("its properties are described")
    return describer(change.type, path) or default


def _differences(change: Change) -> Iterator[ValueDifference]:
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
        yield from differences(before, after, lambda path: has_row(path) is not None)
