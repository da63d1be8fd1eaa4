"""What changes in each resource, in words: the table applied to every change of a stage."""

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
    """One thing that changes in a resource; `rule` names the danger that it is, if it is one."""

    change: Change
    path: str
    text: str
    rule: str


def described(comparison: "Comparison") -> Iterator[DescribedChange]:
    """Yield all that changes in stacks that stay, and what is dangerous in those that are new.

    Resources of a stack that leaves the app are not touched by a deploy.
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
    """Yield the resource as a whole, whose path is empty, then each property that differs."""
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
