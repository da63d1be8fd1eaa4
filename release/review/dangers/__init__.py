"""What a reviewer must not miss: each rule is a function that takes a `Comparison`.

Its name is the rule's in a danger's key; it yields what it `Found`.
"""

from collections.abc import Callable, Iterable, Iterator

from release.review.comparison import Comparison
from release.review.dangers.access import (
    powerful_newcomers,
    public_exposure,
    widened_access,
)
from release.review.dangers.changed_properties import changed_properties
from release.review.dangers.changed_stack_settings import changed_stack_settings
from release.review.dangers.deploy_time_values import deploy_time_values
from release.review.dangers.endpoints import (
    dropped_models,
    lost_alarms,
    low_minimum,
    refused_updates,
    removed_endpoints,
    split_sequences,
    unscaled_meanwhile,
)
from release.review.dangers.foreign_origins import foreign_origins
from release.review.dangers.found import REPOSITORY, Danger, Found, digest
from release.review.dangers.high_findings import high_findings
from release.review.dangers.new_acknowledgements import new_acknowledgements
from release.review.dangers.refused_exports import refused_exports
from release.review.dangers.replaced_resources import replaced_resources
from release.review.dangers.stages import left_production, new_environment, over_budget

__all__ = ["REPOSITORY", "Danger", "dangers"]

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
    split_sequences,
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


def dangers(comparison: Comparison) -> list[Danger]:
    """Return every danger of a stage, in the order of the rules, each cause once."""
    every = [(value.rule or rule.__name__, value) for rule in RULES for value in rule(comparison)]
    explained: dict[str, list[str]] = {entry.subject: [] for _, entry in every}
    left: dict[str, list[Found]] = {}
    for rule, item in every:
        cause = _cause(rule, item, every)
        if cause is item:
            left.setdefault(rule, []).append(item)
        else:
            explained[cause.subject].append(item.message)
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


def _together(
    stage: str, rule: str, found: Iterable[Found], explained: dict[str, list[str]]
) -> Iterator[Danger]:
    """Yield one danger for each group, whose key is that of exactly what is in it."""
    groups: dict[str, list[Found]] = {}
    for grant in found:
        groups.setdefault(grant.group or grant.subject, []).append(grant)
    for group, members in groups.items():
        first, said = members[0], tuple(item.message for item in members)
        if len(members) == 1:
            details = tuple(explained[first.subject]) if first.explains else ()
            yield Danger(stage, rule, first.subject, first.message, details)
            continue
        heading = f"{{count}} {rule.replace('_', ' ')}, such as {first.message}"
        if first.heading and {value.heading for value in members} == {first.heading}:
            heading = first.heading
        heading = heading.replace("{count}", str(len(members)))
        yield Danger(stage, rule, f"{group}.{digest(chr(10).join(said))}", heading, said)
