"""Which endpoints a change touches, in a word each."""

from dataclasses import dataclass
from typing import Literal

from release.review.comparison import Comparison, Pair
from release.review.differences import Change

State = Literal["new", "removed", "renamed", "changed", "unchanged", "not compared"]


@dataclass(frozen=True)
class EndpointChange:
    """An endpoint before and after; `changes` are those of its stack."""

    pair: Pair
    state: State
    changes: tuple[Change, ...]

    @property
    def name(self) -> str:
        """The endpoint's name, the new one where it changes."""
        return self.pair.name


def endpoint_changes(comparison: Comparison, *, compared: bool) -> list[EndpointChange]:
    """Return every endpoint of a stage; without a base to compare with, no state is known."""
    found = []
    for stack, there in comparison.endpoints.items():
        # A stage that moves is created anew, and what was stays as it is.
        pair = Pair(None, there.after) if comparison.moves and there.after else there
        changes = tuple(it for it in comparison.changes if it.stack == stack)
        found.append(
            EndpointChange(pair, _state(pair, changes) if compared else "not compared", changes)
        )
    return found


def _state(pair: Pair, changes: tuple[Change, ...]) -> State:
    if pair.before is None:
        return "new"
    if pair.after is None:
        return "removed"
    if pair.before.name != pair.after.name:
        return "renamed"
    return "changed" if changes else "unchanged"
