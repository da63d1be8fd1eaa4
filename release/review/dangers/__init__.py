"""What a reviewer must not miss: each rule is one module with one function of the same name.

A rule takes a `Comparison` and yields what it `Found`.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from release.review.comparison import Comparison
from release.review.dangers.changed_stack_settings import changed_stack_settings
from release.review.dangers.deploy_time_values import deploy_time_values
from release.review.dangers.dropped_models import dropped_models
from release.review.dangers.encryption_removed import encryption_removed
from release.review.dangers.expiring_objects import expiring_objects
from release.review.dangers.found import Found, digest
from release.review.dangers.high_findings import high_findings
from release.review.dangers.internet_routes import internet_routes
from release.review.dangers.left_production import left_production
from release.review.dangers.lost_alarms import lost_alarms
from release.review.dangers.lost_records import lost_records
from release.review.dangers.lost_rollback import lost_rollback
from release.review.dangers.lost_safeguards import lost_safeguards
from release.review.dangers.low_minimum import low_minimum
from release.review.dangers.new_acknowledgements import new_acknowledgements
from release.review.dangers.new_environment import new_environment
from release.review.dangers.over_budget import over_budget
from release.review.dangers.powerful_newcomers import powerful_newcomers
from release.review.dangers.public_exposure import public_exposure
from release.review.dangers.refused_exports import refused_exports
from release.review.dangers.refused_updates import refused_updates
from release.review.dangers.removed_endpoints import removed_endpoints
from release.review.dangers.replaced_resources import replaced_resources
from release.review.dangers.reset_counts import reset_counts
from release.review.dangers.unheard_alarms import unheard_alarms
from release.review.dangers.unscaled_meanwhile import unscaled_meanwhile
from release.review.dangers.weakened_alarms import weakened_alarms
from release.review.dangers.widened_access import widened_access

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
    lost_rollback,
    lost_alarms,
    weakened_alarms,
    unheard_alarms,
    low_minimum,
    reset_counts,
    expiring_objects,
    lost_records,
    lost_safeguards,
    widened_access,
    powerful_newcomers,
    deploy_time_values,
    public_exposure,
    internet_routes,
    encryption_removed,
    high_findings,
    new_acknowledgements,
    over_budget,
)

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
    every = [(rule.__name__, it) for rule in RULES for it in rule(comparison)]
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
    seen = [found]
    while True:
        by = next(
            (each for each in every if each[1].explains and each[1].explains(rule, found.subject)),
            None,
        )
        if by is None or by[1] in seen:
            return found
        rule, found = by
        seen.append(found)


def _together(
    stage: str, rule: str, found: Iterable[Found], explained: dict[str, list[str]]
) -> Iterator[Danger]:
    """Yield one danger for each group, whose key is that of exactly what is in it."""
    groups: dict[str, list[Found]] = {}
    for it in found:
        groups.setdefault(it.group or it.subject, []).append(it)
    for group, members in groups.items():
        first = members[0]
        if len(members) == 1:
            details = tuple(explained[first.subject]) if first.explains else ()
            yield Danger(stage, rule, first.subject, first.message, details)
            continue
        said = tuple(it.message for it in members)
        heading = first.heading.replace("{count}", str(len(members)))
        yield Danger(stage, rule, f"{group}.{digest(chr(10).join(said))}", heading, said)
