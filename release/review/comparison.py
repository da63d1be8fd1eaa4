"""One stage before and after a change."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from release.review import environments
from release.review.access.gained import AccessChange, access_changes
from release.review.described import DescribedChange, described
from release.review.differences import Change, StackDifference, differences
from release.review.endpoints import DeclaredEndpoint, endpoint_of
from release.review.environments import ByStack
from release.review.findings import NOTHING, FindingsChange
from release.stage_file import StageFile
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

    `before` and `after` are templates by stack, `was` and `will_be` what the stage says of itself
    then, `settings` what cloud assemblies say of stacks beside templates, by stack, before and
    after, `findings` what linters find in the templates, `acknowledged` the findings of cdk-nag
    that the app acknowledges, `base_strings` the string constants in the base's code,
    `models` the folders of models before and after, None where there are no files.
    """

    stage: str
    before: dict[str, Template]
    after: dict[str, Template]
    was: StageFile
    will_be: StageFile
    settings: tuple[ByStack, ByStack] = ({}, {})
    findings: FindingsChange = NOTHING
    acknowledged: FindingsChange = NOTHING
    base_strings: frozenset[str] = frozenset()
    models: tuple[Path | None, Path | None] = (None, None)

    @property
    def production(self) -> bool:
        """Whether it is judged as production: also when the change says that it is not any more."""
        return self.was.production or self.will_be.production

    @property
    def moves(self) -> bool:
        """Whether everything is created somewhere else, and what was stays as it is."""
        return bool(self.before) and environments.moves(self.was, self.will_be)

    @cached_property
    def sides(self) -> tuple[dict[str, Template], dict[str, Template]]:
        """The templates before and after, without their places where those differ."""
        return environments.comparable(self.before, self.was, self.after, self.will_be)

    @cached_property
    def stacks(self) -> list[StackDifference]:
        """The stacks that differ, by name."""
        return differences(*self.sides)

    @property
    def changes(self) -> list[Change]:
        """Every resource that differs."""
        return [change for stack in self.stacks for change in stack.changes]

    @property
    def deployed_changes(self) -> list[Change]:
        """The changes that CloudFormation makes to what is deployed.

        It touches nothing of a stack that leaves the app, nor of a stage that moves.
        """
        if self.moves:
            return []
        stay = self.before.keys() & self.after.keys()
        return [change for change in self.changes if change.stack in stay]

    @cached_property
    def described(self) -> list[DescribedChange]:
        """What changes in each resource, in words."""
        return list(described(self))

    @cached_property
    def access(self) -> list[AccessChange]:
        """What the policies of each stack allow and did not before, and the other way round."""
        return list(access_changes(*self.sides))

    @cached_property
    def endpoints(self) -> dict[str, Pair]:
        """Stack name -> its endpoint before and after, for stacks that have one."""
        before, after = self.sides
        names = sorted(before.keys() | after.keys())
        pairs = {name: Pair(endpoint_of(before.get(name, {})), endpoint_of(after.get(name, {})))
                 for name in names}  # fmt: skip
        return {name: pair for name, pair in pairs.items() if pair.before or pair.after}

    @property
    def kept(self) -> list[tuple[DeclaredEndpoint, DeclaredEndpoint]]:
        """The endpoints that were there before and still are, under the same name."""
        return [
            (pair.before, pair.after)
            for pair in self.endpoints.values()
            if pair.before and pair.after and pair.before.name == pair.after.name
        ]

    def endpoint_in(self, stack: str) -> str:
        """Return the name of a stack's endpoint, the stack's own where it has none."""
        return self.endpoints[stack].name if stack in self.endpoints else stack
