"""One stage before and after a change."""

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from release.review.differences import Change, StackDifference, differences
from release.review.endpoints import DeclaredEndpoint, endpoint_of
from release.review.gained_access import Gained, gained
from release.tree import Template


@dataclass(frozen=True)
class Pair:
    """One stack's endpoint before and after; None where there is none, which is one at most."""

    before: DeclaredEndpoint | None
    after: DeclaredEndpoint | None

    @property
    def name(self) -> str:
        """The endpoint's name, the new one where it changes."""
        endpoint = self.after or self.before
        assert endpoint is not None
        return endpoint.name


@dataclass(frozen=True)
class Comparison:
    """What rules and sentences look at.

    `production` is what the stage says of itself, `change_sets` what CloudFormation says of stacks.
    """

    stage: str
    production: bool
    before: dict[str, Template]
    after: dict[str, Template]
    change_sets: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def stacks(self) -> list[StackDifference]:
        """The stacks that differ, by name."""
        return differences(self.before, self.after, self.change_sets)

    @property
    def changes(self) -> list[Change]:
        """Every resource that differs."""
        return [change for stack in self.stacks for change in stack.changes]

    @cached_property
    def gained(self) -> list[Gained]:
        """What the policies of each stack allow and did not before."""
        return list(gained(self.before, self.after))

    @cached_property
    def endpoints(self) -> dict[str, Pair]:
        """Stack name -> its endpoint before and after, for stacks that have one."""
        names = sorted(self.before.keys() | self.after.keys())
        pairs = {
            it: Pair(endpoint_of(self.before.get(it, {})), endpoint_of(self.after.get(it, {})))
            for it in names
        }
        return {name: pair for name, pair in pairs.items() if pair.before or pair.after}

    @property
    def kept(self) -> list[tuple[DeclaredEndpoint, DeclaredEndpoint]]:
        """The endpoints that were there before and still are, under the same name."""
        return [
            (it.before, it.after)
            for it in self.endpoints.values()
            if it.before and it.after and it.before.name == it.after.name
        ]
