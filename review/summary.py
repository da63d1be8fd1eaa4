"""The first line of a report."""

from collections.abc import Iterator

from review.money import ROUTINE_CHARGES, total
from review.report import ChangeReport
from review.values import first_names


def summary(report: ChangeReport) -> str:
    """Return the most important facts of a report, in one line."""
    return ", ".join(
        (
            *_danger_clauses(report),
            *_endpoint_clauses(report),
            *_load_clauses(report),
            *_cost_clauses(report),
            *_code_clauses(report),
        )
    )


def _danger_clauses(report: ChangeReport) -> Iterator[str]:
    if not report.is_complete:
        yield f"not everything was reviewed ({first_names([gap.part for gap in report.gaps])})"
    groups = report.danger_groups
    acknowledged_count = sum(group.first.acknowledgement is not None for group in groups)
    advisory_count = sum(group.is_advice for group in groups)
    count = len(groups) - acknowledged_count - advisory_count
    if count or (report.is_complete and not advisory_count):
        none = "no known" if report.code else "no"
        yield f"{count or none} danger{'' if count == 1 else 's'}"
    if acknowledged_count:
        yield f"{acknowledged_count} acknowledged"
    if advisory_count:
        noun = "" if count else " danger" if advisory_count == 1 else " dangers"
        yield f"{advisory_count} advisory{noun}"


def _endpoint_clauses(report: ChangeReport) -> Iterator[str]:
    count = sum(len(stage.endpoints) for stage in report.stages)
    if changed := len(report.changed_endpoints):
        yield f"{changed} of {count} {'endpoint changes' if count == 1 else 'endpoints change'}"
    elif report.stages and report.is_complete:
        has_changed_stack = any(stage.stacks for stage in report.stages)
        yield "no endpoint changes" if has_changed_stack else "no change to any deployed resource"


def _load_clauses(report: ChangeReport) -> Iterator[str]:
    """Yield which changed models no Triton has loaded: a review runs no code of a change."""
    built = [model for model in report.changed_models if model.is_built]
    obstacles = {model.model: model.load_obstacle for model in built if model.load_obstacle}
    names = sorted({model.model for model in built} - obstacles.keys())
    if names:
        builds = "its build" if len(names) == 1 else "their builds"
        yield f"Triton loads {first_names(names)} only in {builds}"
    for reason in dict.fromkeys(obstacles.values()):
        names = [name for name, obstacle in sorted(obstacles.items()) if obstacle == reason]
        are = "is" if len(names) == 1 else "are"
        yield f"{first_names(names)} {are} published untested in Triton ({reason})"


def _cost_clauses(report: ChangeReport) -> Iterator[str]:
    charges = [charge for charge in report.volume_charges if charge not in ROUTINE_CHARGES]
    if charges:
        yield f"{first_names(charges)} charged by volume"
    changed = report.changed_costs
    for amount, words in (("minimum", "at least"), ("maximum", "at most")):
        before = total((cost.before for cost in changed), amount)
        after = total((cost.after for cost in changed), amount)
        if not (before.complete and after.complete):
            missing = sorted({name for cost in changed for name in cost.missing_prices})
            yield f"no price known for {first_names(missing)}"
            return
        if difference := round(after.usd - before.usd):
            yield f"{words} {difference:+,} USD a month"
            return


def _code_clauses(report: ChangeReport) -> Iterator[str]:
    if report.code:
        packages = [line.split("**")[1] for line in report.code if line.startswith("**")]
        unowned = any(group.is_open for group in report.unowned_code)
        owner = ", and nobody has to approve it (the review does not pass)" if unowned else ""
        yield f"code of {first_names(packages)} changes, which people must judge{owner}"
