"""A stage before and after a change."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from plan.document import Plan, PlannedEndpoint
from release.templates import Template
from review import environments
from review.access.access_changes import AccessChange, access_changes
from review.environments import StackValues
from review.meaning import in_the_same_words
from review.stack_differences import ResourceChange, StackDifference, stack_differences
from review.verified_plans import ReadModel, read_models

POLICY_PROPERTIES = {"AssumeRolePolicyDocument", "KeyPolicy", "Policies", "PolicyDocument"}
"""Properties that only give or deny access."""


@dataclass(frozen=True)
class EndpointPair:
    """The planned endpoint of a stack before and after; one is None if it does not exist."""

    before: PlannedEndpoint | None
    after: PlannedEndpoint | None

    @property
    def name(self) -> str:
        """The endpoint's name; the new name if it changes."""
        endpoint = self.after or self.before
        assert endpoint is not None
        return endpoint.settings.name

    @property
    def is_changed(self) -> bool:
        """Whether the plan of the endpoint changes, and not only its words."""
        if self.before is None or self.after is None:
            return True
        before, after = (side.model_dump(mode="json") for side in (self.before, self.after))
        return bool(in_the_same_words(before, after) != before)


@dataclass(frozen=True)
class Comparison:
    """A stage before and after a change: the input of the rules.

    before, after: stack name -> template.
    plan_before, plan_after: the plan, None if the stage does not exist.
    settings: stack name -> deployment settings in the cloud assembly, before and after.
    acknowledged: a line for each finding of cdk-nag that the app acknowledges, before and after.
    models: the folder `models` after the change, None if its files are not available; old_models
        is that before the change.
    """

    stage: str
    before: dict[str, Template]
    after: dict[str, Template]
    plan_before: Plan | None
    plan_after: Plan | None
    settings: tuple[StackValues, StackValues] = ({}, {})
    acknowledged: tuple[Sequence[str], Sequence[str]] = ((), ())
    models: Path | None = None
    old_models: Path | None = None

    @property
    def plans(self) -> tuple[Plan, Plan]:
        """The plans before and after; of a new or removed stage, its only plan twice."""
        before, after = (
            self.plan_before or self.plan_after,
            self.plan_after or self.plan_before,
        )
        assert before is not None
        assert after is not None
        return before, after

    @property
    def is_production(self) -> bool:
        """Whether the stage is production, before or after the change."""
        return any(plan.production for plan in self.plans)

    @property
    def is_moved(self) -> bool:
        """Whether the stage moves to another region or account, so that all stacks are new."""
        return environments.is_moved(*self.plans)

    @property
    def may_be_moved(self) -> bool:
        """Whether the stage moves, or may move, so that values of its environment differ."""
        return environments.may_be_moved(*self.plans)

    @cached_property
    def templates(self) -> tuple[dict[str, Template], dict[str, Template]]:
        """The templates before and after, with placeholders for a changed region or account.

        What means the same as before has the words of before.
        """
        before, after = environments.normalize(self.before, self.after, self.plans)
        return before, in_the_same_words(before, after)

    @cached_property
    def stacks(self) -> list[StackDifference]:
        """The stacks that differ, sorted by name."""
        return stack_differences(*self.templates)

    @property
    def changes(self) -> list[ResourceChange]:
        """The changes of all resources, in all stacks."""
        return [change for stack in self.stacks for change in stack.changes]

    def effective_changes(self, stack: str) -> list[ResourceChange]:
        """Return the changes of a stack, without policies that give equal access in other words."""
        changes = [change for change in self.changes if change.stack == stack]
        if any(access.stack == stack and not access.is_equal for access in self.access):
            return changes
        return [
            change
            for change in changes
            if change.type != "AWS::IAM::Policy"
            and not (change.properties and {*change.properties} <= POLICY_PROPERTIES)
        ]

    def is_deployed(self, stack: str) -> bool:
        """Return whether a stack exists before and after, in the same environment."""
        return stack in self.before and stack in self.after and not self.is_moved

    @cached_property
    def access(self) -> list[AccessChange]:
        """The permissions that the change adds and removes, by stack."""
        return list(access_changes(*self.templates))

    @property
    def stage_file(self) -> Path | None:
        """The stage's file after the change, None if it is not available."""
        return self.models and self.models.parent / "stages" / f"{self.stage}.yaml"

    @cached_property
    def read_models(self) -> dict[str, ReadModel]:
        """The models after the change, as the base's code reads their files."""
        plan = self.plan_after
        return read_models(plan, self.models) if plan and self.models else {}

    @cached_property
    def endpoints(self) -> dict[str, EndpointPair]:
        """Stack name -> its endpoint before and after."""
        before, after = (
            {endpoint.settings.stack: endpoint for endpoint in plan.endpoints.values()}
            if plan
            else {}
            for plan in (self.plan_before, self.plan_after)
        )
        return {
            stack: EndpointPair(before.get(stack), after.get(stack))
            for stack in sorted(before.keys() | after.keys())
        }

    @property
    def common_endpoints(self) -> list[tuple[PlannedEndpoint, PlannedEndpoint]]:
        """(before, after) of the endpoints that exist before and after under the same name."""
        return [
            (pair.before, pair.after)
            for pair in self.endpoints.values()
            if pair.before and pair.after and pair.before.settings.name == pair.after.settings.name
        ]
