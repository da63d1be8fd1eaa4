"""What a reviewer must not miss: each rule is a function that takes a `Comparison`.

Its name is the rule's in a danger's key; it yields what it `Found`. `REPOSITORY_RULES` are about
the repository, and take two trees.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from release.review.comparison import Comparison
from release.review.dangers.access import (
    powerful_newcomers,
    public_exposure,
    widened_access,
)
from release.review.dangers.changed_judge import changed_judge
from release.review.dangers.changed_properties import changed_properties
from release.review.dangers.changed_stack_settings import changed_stack_settings
from release.review.dangers.deploy_time_values import deploy_time_values
from release.review.dangers.endpoints import (
    dropped_models,
    lost_alarms,
    low_minimum,
    refused_updates,
    removed_endpoints,
    unscaled_meanwhile,
)
from release.review.dangers.foreign_origins import foreign_origins
from release.review.dangers.found import Found, digest
from release.review.dangers.high_findings import high_findings
from release.review.dangers.new_acknowledgements import new_acknowledgements
from release.review.dangers.refused_exports import refused_exports
from release.review.dangers.replaced_resources import replaced_resources
from release.review.dangers.stages import left_production, new_environment, over_budget
from release.review.dangers.uncompared_tools import uncompared_tools
from release.review.dangers.widened_workflows import widened_workflows
from release.tree import Tree

Rule = Callable[[Comparison], Iterator[Found]]

RULES: tuple[Rule, ...] = (
    new_environment,
    changed_stack_settings,
    removed_endpoints,
    refused_updates,
    refused_exports,
    unscaled_meanwhile,
    dropped_models,
    replaced_resources,
    left_production,
    lost_alarms,
    low_minimum,
    changed_properties,
    widened_access,
    powerful_newcomers,
    public_exposure,
    foreign_origins,
    deploy_time_values,
    high_findings,
    new_acknowledgements,
    over_budget,
)

REPOSITORY_RULES = (changed_judge, widened_workflows, uncompared_tools)
REPOSITORY = "repository"
"""What stands for the stage in the key of a danger that is no stage's."""


@dataclass(frozen=True)
class Danger:
    """`key` names it in `release/acknowledged.yaml`: the stage, the rule and the subject.

    `details` are what it stands for, where that is more than the message says.
    """

    stage: str
    rule: str
    subject: str
    message: str
    details: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """What an acknowledgement names."""
        return f"{self.stage}/{self.rule}/{self.subject}"


def dangers(comparison: Comparison) -> list[Danger]:
    """Return every danger of a stage, in the order of the rules, each cause once."""
    every = [(it.rule or rule.__name__, it) for rule in RULES for it in rule(comparison)]
    explained: dict[str, list[str]] = {it.subject: [] for _, it in every}
    left: dict[str, list[Found]] = {}
    for rule, it in every:
        cause = _cause(rule, it, every)
        if cause is it:
            left.setdefault(rule, []).append(it)
        else:
            explained[cause.subject].append(it.message)
    return [
        danger
        for rule, found in left.items()
        for danger in _together(comparison.stage, rule, found, explained)
    ]


def _cause(rule: str, found: Found, every: list[tuple[str, Found]]) -> Found:
    """Return what explains something in the end, itself where nothing does."""
    passed = [found]
    while True:
        by = next(
            (each for each in every if each[1].explains and each[1].explains(rule, found.subject)),
            None,
        )
        if by is None or by[1] in passed:
            return found
        rule, found = by
        passed.append(found)


def repository_dangers(before: Tree, after: Tree) -> list[Danger]:
    """Return the dangers that are no stage's."""
    return [
        danger
        for rule in REPOSITORY_RULES
        for danger in _together(REPOSITORY, rule.__name__, rule(before, after), {})
    ]


def _together(
    stage: str, rule: str, found: Iterable[Found], explained: dict[str, list[str]]
) -> Iterator[Danger]:
    """Yield one danger for each group, whose key is that of exactly what is in it."""
    groups: dict[str, list[Found]] = {}
    for it in found:
        groups.setdefault(it.group or it.subject, []).append(it)
    for group, members in groups.items():
        first, said = members[0], tuple(it.message for it in members)
        if len(members) == 1:
            details = tuple(explained[first.subject]) if first.explains else ()
            yield Danger(stage, rule, first.subject, first.message, details)
            continue
        heading = f"{{count}} {rule.replace('_', ' ')}, such as {first.message}"
        if first.heading and {it.heading for it in members} == {first.heading}:
            heading = first.heading
        heading = heading.replace("{count}", str(len(members)))
        yield Danger(stage, rule, f"{group}.{digest(chr(10).join(said))}", heading, said)
