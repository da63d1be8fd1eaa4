"""What changes in each resource, in words: the table applied to every change of a stage."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from release.review.describers.generic import shown
from release.review.differences import Change
from release.review.property_change import ChangeLine, PropertyChange
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
        for path, line in dict.fromkeys(_lines(change, comparison)):
            if line.rule or (stays and (not path or (change.before and change.after))):
                yield DescribedChange(change, path, line.text, line.rule)


def _lines(change: Change, comparison: "Comparison") -> Iterator[tuple[str, ChangeLine]]:
    """Yield the lines of the resource as a whole, then of each property."""
    whole = ValueDifference((), "", *(side.get("Properties", {}) if side else None
                                 for side in (change.before, change.after)))  # fmt: skip
    yield from _of(change, whole, comparison)
    if change.after:
        before, after = (
            {**{key: entry for key, entry in side.items() if key not in NOT_COMPARED},
             **side.get("Properties", {})}
            for side in (change.before, change.after)
        )  # fmt: skip
        for item in differences(
            before, after, lambda path: describer(change.type, path) is not None
        ):
            yield from _of(change, item, comparison)


def _of(
    change: Change, difference: ValueDifference, comparison: "Comparison"
) -> Iterable[tuple[str, ChangeLine]]:
    describe = describer(change.type, difference.path) or (shown if difference.path else None)
    for line in (
        describe(PropertyChange(change, comparison, difference.path, *difference[1:]))
        if describe
        else ()
    ):
        yield difference.path, line
