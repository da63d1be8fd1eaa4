"""The rules for dangers: functions that take a `Comparison` and yield dangers.

The name of a function is the rule in a danger's key.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from review.comparison import Comparison
from review.dangers import (
    access,
    changed_properties,
    changed_stack_settings,
    components,
    deploy_time_values,
    endpoints,
    high_severity_findings,
    new_acknowledgements,
    new_origins,
    rejected_exports,
    replaced_resources,
    stages,
)
from review.dangers.danger import Danger, merge_explained, merge_groups

Rule = Callable[[Comparison], Iterator[Danger]]

RULES: tuple[Rule, ...] = (
    stages.new_environment,
    changed_stack_settings.changed_stack_settings,
    endpoints.removed_endpoints,
    endpoints.rejected_updates,
    rejected_exports.rejected_exports,
    endpoints.scaling_suspended_during_update,
    endpoints.dropped_models,
    endpoints.broken_clients,
    components.missing_components,
    components.no_scale_from_zero_alarm,
    components.insufficient_capacity,
    replaced_resources.replaced_resources,
    stages.no_longer_production,
    endpoints.low_availability,
    endpoints.split_sequences,
    changed_properties.changed_properties,
    access.widened_access,
    access.privileged_new_principals,
    access.public_exposure,
    access.lost_service_access,
    new_origins.new_origins,
    deploy_time_values.deploy_time_values,
    high_severity_findings.high_severity_findings,
    new_acknowledgements.new_acknowledgements,
    stages.over_budget,
)


def dangers(comparison: Comparison) -> list[Danger]:
    """Return the dangers of a stage in the order of the rules, grouped by cause."""
    unmerged = [
        replace(danger, stage=comparison.stage, rule=danger.rule or rule.__name__)
        for rule in RULES
        for danger in rule(comparison)
    ]
    return list(merge_groups(merge_explained(unmerged)))
