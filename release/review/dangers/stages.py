"""Dangers of a whole stage: it moves, exceeds its budget, or leaves production."""

import re
from collections.abc import Iterator

from release.review import environments
from release.review.comparison import Comparison
from release.review.dangers.danger import Danger
from release.review.money import cost_changes, total
from release.stage_file import StageFile

ALARMS = {
    "lost_alarms": re.compile(r".+\.\S+/Monitoring/\S+"),
    "replaced_resources": re.compile(r"\S+-models\.Alarms/\S+"),
    "unheard_alarms": re.compile(r"\S+-models\.Alarms/\S+"),
}
"""Rule -> the subjects that only production stages have (stacks/endpoint_stack.py,
stacks/model_stack.py)."""


def new_environment(comparison: Comparison) -> Iterator[Danger]:
    """The stage gets another region or account, where none of its stacks exist.

    A stack is in one region of one account (CloudFormation user guide, "How CloudFormation works"):
    deployed stacks are neither moved nor deleted.
    """
    was, will_be = comparison.was, comparison.will_be
    if not comparison.before or not environments.may_move(was, will_be):
        return
    where = f"{_place(was)} -> {_place(will_be)}"
    new = (
        "every stack is created there, every model is built there, and what is deployed runs on "
        "and is paid for until somebody destroys it"
    )
    unless = "" if comparison.moves else "unless that is where it is deployed already, "
    yield Danger(comparison.stage, f"{comparison.stage} moves, {where}: {unless}{new}")


def left_production(comparison: Comparison) -> Iterator[Danger]:
    """The stage is no longer production: its alarms and their notifications are deleted."""
    if comparison.was.production and not comparison.will_be.production:
        yield Danger(
            comparison.stage,
            f"{comparison.stage} is no longer production: nobody is notified any more when it "
            "fails, and one instance is enough",
            explains=lambda danger: (
                danger.rule in ALARMS and ALARMS[danger.rule].fullmatch(danger.subject) is not None
            ),
        )


def over_budget(comparison: Comparison) -> Iterator[Danger]:
    """The maximum cost of a stage exceeds `max_monthly_usd`, and did not before or rises further.

    Instance types without a price are left out, which a note says.
    """
    most, before_that = comparison.will_be.max_monthly_usd, comparison.was.max_monthly_usd
    if most is None or not comparison.after:
        return
    costs = list(cost_changes(comparison))
    was = total((cost.before for cost in costs), "maximum").usd
    now = total((item.after for item in costs), "maximum").usd
    was_above = before_that is not None and was > before_that
    if now > most and not (was_above and now <= was and before_that and most >= before_that):
        yield Danger(
            comparison.stage,
            f"{comparison.stage} may cost {now:,.0f} USD a month, more than its max_monthly_usd of "
            f"{most:,.0f} (before: up to {was:,.0f})",
        )


def _place(file: StageFile) -> str:
    return f"{file.region} of account {file.account}" if file.account else file.region
