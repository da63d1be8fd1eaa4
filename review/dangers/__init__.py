"""The rules for dangers: functions that take a `Comparison` and yield dangers.

The name of a function is the rule in a danger's key.
"""

from collections.abc import Callable, Iterator
from dataclasses import replace

from review.comparison import Comparison
from review.dangers import (
    access,
    endpoints,
    identities,
    properties,
    relations,
    resources,
    schedules,
    stages,
    targets,
)
from review.dangers.danger import Danger, merge_explained, merge_groups

Rule = Callable[[Comparison], Iterator[Danger]]

RULES: tuple[Rule, ...] = (
    stages.plan_mismatches,
    stages.new_environment,
    endpoints.removed_endpoints,
    endpoints.rejected_updates,
    endpoints.scaling_removed_during_update,
    endpoints.dropped_models,
    endpoints.broken_clients,
    endpoints.recorded_calls,
    identities.shared_identities,
    resources.replaced_resources,
    resources.moved_archives,
    resources.exports_in_use,
    resources.changed_indexes,
    stages.no_longer_production,
    endpoints.low_availability,
    endpoints.lost_scaling,
    schedules.unpaired_schedules,
    relations.broken_relations,
    endpoints.multiplied_capacity,
    endpoints.shifted_traffic,
    endpoints.split_sequences,
    properties.changed_properties,
    access.widened_access,
    access.privileged_new_principals,
    access.public_exposure,
    access.lost_service_access,
    targets.foreign_targets,
    targets.unreachable_hosts,
    resources.unknown_resources,
    resources.changed_stack_settings,
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
