"""What a reviewer must not miss: each rule is a function that takes a `Comparison`.

Its name is the rule's in a danger's key.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from release.review.comparison import Comparison
from release.review.dangers.access import (
    lost_service_access,
    powerful_newcomers,
    public_exposure,
    widened_access,
)
from release.review.dangers.changed_properties import changed_properties
from release.review.dangers.changed_stack_settings import changed_stack_settings
from release.review.dangers.danger import Danger, grouped, one_for_each_cause
from release.review.dangers.deploy_time_values import deploy_time_values
from release.review.dangers.endpoints import (
    broken_clients,
    dropped_models,
    low_minimum,
    refused_updates,
    removed_endpoints,
    split_sequences,
    unscaled_meanwhile,
)
from release.review.dangers.foreign_origins import foreign_origins
from release.review.dangers.high_findings import high_findings
from release.review.dangers.new_acknowledgements import new_acknowledgements
from release.review.dangers.refused_exports import refused_exports
from release.review.dangers.replaced_resources import replaced_resources
from release.review.dangers.stages import left_production, new_environment, over_budget

Rule = Callable[[Comparison], Iterator[Danger]]

RULES: tuple[Rule, ...] = (
    new_environment,
    changed_stack_settings,
    removed_endpoints,
    refused_updates,
    refused_exports,
    unscaled_meanwhile,
    dropped_models,
    broken_clients,
    replaced_resources,
    left_production,
    low_minimum,
    split_sequences,
    changed_properties,
    widened_access,
    powerful_newcomers,
    public_exposure,
    lost_service_access,
    foreign_origins,
    deploy_time_values,
    high_findings,
    new_acknowledgements,
    over_budget,
)


def dangers(comparison: Comparison) -> list[Danger]:
    """Return every danger of a stage, in the order of the rules, each cause once."""
    every = [
        replace(danger, stage=comparison.stage, rule=danger.rule or rule.__name__)
        for rule in RULES
        for danger in rule(comparison)
    ]
    return list(grouped(one_for_each_cause(every)))
