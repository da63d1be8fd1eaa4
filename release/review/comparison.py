"""A stage before and after a change."""

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
    """The endpoint of a stack before and after; at most one of them is None."""

    before: DeclaredEndpoint | None
    after: DeclaredEndpoint | None

    @property
    def name(self) -> str:
        """The endpoint's name, the new one if it changes."""
        endpoint = self.after or self.before
        assert endpoint is not None
        return endpoint.name


@dataclass(frozen=True)
class Comparison:
    """A stage before and after a change: the input of rules and descriptions.

    `before` and `after` are templates by stack, `was` and `will_be` the stage's files. `settings`
    are the deployment settings of stacks in the cloud assemblies, before and after. `findings` are
    the linters' in the templates, `acknowledged` the cdk-nag findings that the app acknowledges.
    `base_strings` are the string constants in the base's code. `models` are the folders of models
    before and after, None if there are no files.
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
        """Whether the stage is production, before or after the change."""
        return self.was.production or self.will_be.production

    @property
    def moves(self) -> bool:
        """Whether the stage moves to another region or account, where everything is created."""
        return bool(self.before) and environments.moves(self.was, self.will_be)

    @cached_property
    def sides(self) -> tuple[dict[str, Template], dict[str, Template]]:
        """The templates before and after, without region and account if those may differ."""
        return environments.comparable(self.before, self.was, self.after, self.will_be)

    @cached_property
    def stacks(self) -> list[StackDifference]:
        """The stacks that differ, sorted by name."""
        return differences(*self.sides)

    @property
    def changes(self) -> list[Change]:
        """Every resource that differs."""
        return [change for stack in self.stacks for change in stack.changes]

    @property
    def deployed_changes(self) -> list[Change]:
        """The changes that CloudFormation makes to deployed resources.

        It does not touch a stack that leaves the app, nor a stage that moves.
        """
        if self.moves:
            return []
        stay = self.before.keys() & self.after.keys()
        return [change for change in self.changes if change.stack in stay]

    @cached_property
    def described(self) -> list[DescribedChange]:
        """The descriptions of all resource changes."""
        return list(described(self))

    @cached_property
    def access(self) -> list[AccessChange]:
        """The permissions that each stack's policies add and remove."""
        return list(access_changes(*self.sides))

    @cached_property
    def endpoints(self) -> dict[str, Pair]:
        """Stack name -> its endpoint before and after, for stacks with one."""
        before, after = self.sides
        names = sorted(before.keys() | after.keys())
        pairs = {name: Pair(endpoint_of(before.get(name, {})), endpoint_of(after.get(name, {})))
                 for name in names}  # fmt: skip
        return {name: pair for name, pair in pairs.items() if pair.before or pair.after}

    @property
    def kept(self) -> list[tuple[DeclaredEndpoint, DeclaredEndpoint]]:
        """The endpoints, before and after, that keep their name."""
        return [
            (pair.before, pair.after)
            for pair in self.endpoints.values()
            if pair.before and pair.after and pair.before.name == pair.after.name
        ]

    def endpoint_in(self, stack: str) -> str:
        """Return the name of a stack's endpoint, or of the stack if it has none."""
        return self.endpoints[stack].name if stack in self.endpoints else stack
