"""Dangers of a whole stage: its plan, another region or account, production, budget."""

import re
from collections.abc import Iterator

from plan.document import Plan
from plan.mismatches import mismatches
from review.amounts import rises_sharply
from review.comparison import Comparison
from review.dangers.danger import MISMATCH, Danger, digest
from review.money import cost_changes, total
from review.values import construct_path
from review.verified_plans import unverified_models, unverified_settings

PRODUCTION_ONLY_SUBJECTS = {
    "lost_alarms": re.compile(r".+\.\S+/Monitoring/\S+"),
    "replaced_resources": re.compile(r"\S+-models\.Alarms/\S+"),
    "silenced_alarms": re.compile(r"\S+-models\.Alarms/\S+"),
}
"""Rule -> subjects of dangers in resources that exist only in production stages
(stacks/endpoint_stack.py, stacks/model_stack.py)."""


REFERENCE = "Ref"
"""The key in the path of a value of another resource (plan/mismatches.py)."""


def plan_mismatches(comparison: Comparison) -> Iterator[Danger]:
    """The plan of the change does not tell what its templates and its files contain."""
    plan = comparison.plan_after
    if plan is None:
        return
    # The shortest sentence names the resource itself, longer ones name resources that refer to it.
    direct: list[str] = []
    for sentence in sorted(mismatches(plan, comparison.after), key=len):
        _, is_reference, end = sentence.rpartition(f".{REFERENCE}.")
        if is_reference and any(other.endswith(f".{end}") for other in direct):
            continue  # of a resource that has a danger itself
        direct.append(sentence)
        stack = sentence.partition(":")[0]
        text = f"{MISMATCH}{sentence}"
        logical_id = sentence.partition(": ")[2].partition(":")[0].partition(".")[0]
        resources = comparison.after.get(stack, {}).get("Resources", {})
        path = construct_path(logical_id, resources).partition("/")[2] or logical_id
        yield Danger(
            f"{stack}.{digest(sentence)}",
            text,
            group=comparison.stage,
            resource=f"{stack}.{path}",
        )
    for problem in unverified_settings(plan, comparison.stage_file):
        yield Danger(f"{comparison.stage}.{digest(problem)}", problem)
    for name, problem in unverified_models(plan, comparison.read_models):
        yield Danger(f"{name}.{digest(problem)}", f"the model {name} of the plan: {problem}")


def new_environment(comparison: Comparison) -> Iterator[Danger]:
    """The stage moves to another region or account, where none of its stacks exist.

    A stack is in one region of one account (CloudFormation user guide, "How CloudFormation works"):
    deployed stacks are neither moved nor deleted.
    """
    if not comparison.may_be_moved:
        return
    exception = "" if comparison.is_moved else "unless it is already deployed there, "
    yield Danger(
        comparison.stage,
        f"{comparison.stage} moves, {' -> '.join(map(_location, comparison.plans))}: {exception}"
        "all stacks are created and all models are built there; the old stacks run and cost money "
        "until they are deleted",
    )


def no_longer_production(comparison: Comparison) -> Iterator[Danger]:
    """The stage is no longer production: its alarms and their notifications are deleted."""
    before, after = comparison.plans
    if before.production and not after.production:
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

    Or the limit is removed, or becomes several times as high.

    Instance types without a price are omitted from the cost, and listed in a note.
    """
    old_limit = comparison.plan_before.max_monthly_usd if comparison.plan_before else None
    limit = comparison.plan_after.max_monthly_usd if comparison.plan_after else None
    if comparison.plan_after and old_limit and (not limit or rises_sharply(old_limit, limit)):
        after = "none" if limit is None else f"{limit:,.0f}"
        text = f"max_monthly_usd {old_limit:,.0f} -> {after}: a review accepts higher costs"
        yield Danger(f"{comparison.stage}.limit", f"{comparison.stage}: {text}")
    if limit is None:
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


def _location(plan: Plan) -> str:
    return f"{plan.region} of account {plan.account}" if plan.account else plan.region
