"""Dangers of a whole stage: another region or account, no longer production, over its budget."""

import re
from collections.abc import Iterator

from release.checkout import StageFile
from review import environments
from review.comparison import Comparison
from review.dangers.danger import Danger
from review.money import cost_changes, total

PRODUCTION_ONLY_SUBJECTS = {
    "lost_alarms": re.compile(r".+\.\S+/Monitoring/\S+"),
    "replaced_resources": re.compile(r"\S+-models\.Alarms/\S+"),
    "silenced_alarms": re.compile(r"\S+-models\.Alarms/\S+"),
}
"""Rule -> subjects of dangers in resources that exist only in production stages
(stacks/endpoint_stack.py, stacks/model_stack.py)."""


def new_environment(comparison: Comparison) -> Iterator[Danger]:
    """The stage moves to another region or account, where none of its stacks exist.

    A stack is in one region of one account (CloudFormation user guide, "How CloudFormation works"):
    deployed stacks are neither moved nor deleted.
    """
    files = comparison.file_before, comparison.file_after
    if not comparison.before or not environments.may_be_moved(*files):
        return
    exception = "" if comparison.is_moved else "unless it is already deployed there, "
    yield Danger(
        comparison.stage,
        f"{comparison.stage} moves, {' -> '.join(map(_location, files))}: {exception}all stacks "
        "are created and all models are built there; the old stacks run and cost money until they "
        "are deleted",
    )


def no_longer_production(comparison: Comparison) -> Iterator[Danger]:
    """The stage is no longer production: its alarms and their notifications are deleted."""
    if comparison.file_before.production and not comparison.file_after.production:
        yield Danger(
            comparison.stage,
            f"{comparison.stage} is no longer production: its alarms no longer send notifications, "
            "and one instance is allowed",
            explains=lambda danger: (
                danger.rule in PRODUCTION_ONLY_SUBJECTS
                and PRODUCTION_ONLY_SUBJECTS[danger.rule].fullmatch(danger.subject) is not None
            ),
        )


def over_budget(comparison: Comparison) -> Iterator[Danger]:
    """The maximum cost of a stage newly exceeds `max_monthly_usd`, or exceeds it and rises.

    Instance types without a price are omitted from the cost, and listed in a note.
    """
    old_limit = comparison.file_before.max_monthly_usd
    limit = comparison.file_after.max_monthly_usd
    if limit is None or not comparison.after:
        return
    costs = list(cost_changes(comparison))
    old_cost = total((cost.before for cost in costs), "maximum").usd
    new_cost = total((cost.after for cost in costs), "maximum").usd
    was_exceeded = old_limit is not None and old_cost > old_limit
    excess_rises = new_cost > old_cost or not old_limit or limit < old_limit
    if new_cost > limit and (excess_rises or not was_exceeded):
        yield Danger(
            comparison.stage,
            f"{comparison.stage} may cost {new_cost:,.0f} USD a month, more than its "
            f"max_monthly_usd of {limit:,.0f} (before: up to {old_cost:,.0f})",
        )


def _location(file: StageFile) -> str:
    return f"{file.region} of account {file.account}" if file.account else file.region
