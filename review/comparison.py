"""A stage before and after a change."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from release.checkout import StageFile
from release.templates import Template
from review import environments
from review.access.access_changes import AccessChange, access_changes
from review.descriptions import ChangeDescription, describe_changes
from review.endpoints import TemplateEndpoint, parse_endpoint
from review.environments import StackValues
from review.findings import NO_FINDINGS, FindingsChange
from review.stack_differences import ResourceChange, StackDifference, stack_differences


@dataclass(frozen=True)
class EndpointPair:
    """The endpoint of a stack before and after a change; one is None if it does not exist."""

    before: TemplateEndpoint | None
    after: TemplateEndpoint | None

    @property
    def name(self) -> str:
        """The endpoint's name; the new name if it changes."""
        endpoint = self.after or self.before
        assert endpoint is not None
        return endpoint.name


@dataclass(frozen=True)
class Comparison:
    """A stage before and after a change: the input of rules and describers.

    before, after: stack name -> template.
    file_before, file_after: the stage's YAML file.
    settings: stack name -> deployment settings in the cloud assembly, before and after.
    findings: the change of cfn-lint's and checkov's findings in the templates.
    acknowledged: the change of cdk-nag findings that the app acknowledges.
    base_strings: string constants in the base's code.
    models: the folder `models` before and after, None if its files are not available.
    """

    stage: str
    before: dict[str, Template]
    after: dict[str, Template]
    file_before: StageFile
    file_after: StageFile
    settings: tuple[StackValues, StackValues] = ({}, {})
    findings: FindingsChange = NO_FINDINGS
    acknowledged: FindingsChange = NO_FINDINGS
    base_strings: frozenset[str] = frozenset()
    models: tuple[Path | None, Path | None] = (None, None)

    @property
    def is_production(self) -> bool:
        """Whether the stage is production, before or after the change."""
        return self.file_before.production or self.file_after.production

    @property
    def is_moved(self) -> bool:
        """Whether the stage moves to another region or account, so that all stacks are new."""
        return bool(self.before) and environments.is_moved(self.file_before, self.file_after)

    @cached_property
    def templates(self) -> tuple[dict[str, Template], dict[str, Template]]:
        """The templates before and after, with placeholders for a changed region or account."""
        return environments.normalize_environment(
            self.before, self.file_before, self.after, self.file_after
        )

    @cached_property
    def stacks(self) -> list[StackDifference]:
        """The stacks that differ, sorted by name."""
        return stack_differences(*self.templates)

    @property
    def changes(self) -> list[ResourceChange]:
        """The changes of all resources, in all stacks."""
        return [change for stack in self.stacks for change in stack.changes]

    @property
    def deployed_changes(self) -> list[ResourceChange]:
        """The changes in stacks that exist before and after.

        If the stage moves to another region or account, no deployed stack changes.
        """
        if self.is_moved:
            return []
        common_stacks = self.before.keys() & self.after.keys()
        return [change for change in self.changes if change.stack in common_stacks]

    @cached_property
    def descriptions(self) -> list[ChangeDescription]:
        """The descriptions of all resource changes."""
        return list(describe_changes(self))

    @cached_property
    def access(self) -> list[AccessChange]:
        """The permissions that the change adds and removes, by stack."""
        return list(access_changes(*self.templates))

    @cached_property
    def endpoints(self) -> dict[str, EndpointPair]:
        """Stack name -> its endpoint before and after, for stacks with one."""
        before, after = self.templates
        pairs = {}
        for stack in sorted(before.keys() | after.keys()):
            pair = EndpointPair(*(parse_endpoint(side.get(stack, {})) for side in (before, after)))
            if pair.before or pair.after:
                pairs[stack] = pair
        return pairs

    @property
    def common_endpoints(self) -> list[tuple[TemplateEndpoint, TemplateEndpoint]]:
        """(before, after) of the endpoints that exist before and after under the same name."""
        return [
            (pair.before, pair.after)
            for pair in self.endpoints.values()
            if pair.before and pair.after and pair.before.name == pair.after.name
        ]

    def endpoint_or_stack_name(self, stack: str) -> str:
        """Return the name of a stack's endpoint, or of the stack if it has none."""
        return self.endpoints[stack].name if stack in self.endpoints else stack
