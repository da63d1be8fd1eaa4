"""The first line of a report."""

from collections.abc import Iterator

from review.money import total
from review.report import ChangeReport

MAX_GAPS = 3
"""Maximum number of gaps that the line names; it has only the number of further gaps."""


def summary(report: ChangeReport) -> str:
    """Return the most important facts of a report, in one line."""
    return ", ".join(
        (
            *_danger_clauses(report),
            *_endpoint_clauses(report),
            *_cost_clauses(report),
            *_code_clauses(report),
        )
    )


def _danger_clauses(report: ChangeReport) -> Iterator[str]:
    if not report.is_complete:
        parts = [gap.part for gap in report.gaps]
        more = f" and {len(parts) - MAX_GAPS} more" if len(parts) > MAX_GAPS else ""
        yield f"not everything was reviewed ({', '.join(parts[:MAX_GAPS])}{more})"
    groups = report.danger_groups
    count = sum(group.first.acknowledgement is None for group in groups)
    if count or report.is_complete:
        yield f"{count or 'no'} danger{'' if count == 1 else 's'}"
    if acknowledged_count := len(groups) - count:
        yield f"{acknowledged_count} acknowledged"


def _endpoint_clauses(report: ChangeReport) -> Iterator[str]:
    count = sum(1 for _ in report.all_of("endpoints"))
    if changed := len(report.changed_endpoints):
        yield f"{changed} of {count} {'endpoint changes' if count == 1 else 'endpoints change'}"
    elif report.stages and report.is_complete:
        has_changed_stack = any(report.all_of("stacks"))
        yield "no endpoint changes" if has_changed_stack else "no change to any deployed resource"


def _cost_clauses(report: ChangeReport) -> Iterator[str]:
    changed = report.changed_costs
    for amount, words in (("minimum", "at least"), ("maximum", "at most")):
        before = total((cost.before for cost in changed), amount)
        after = total((cost.after for cost in changed), amount)
        if not (before.complete and after.complete):
            yield "cost unknown: no price for an instance type"
            return
        if difference := round(after.usd - before.usd):
            yield f"{words} {difference:+,} USD a month"
            return


def _code_clauses(report: ChangeReport) -> Iterator[str]:
    if report.code:
        packages = [line.partition("**")[2].partition("**")[0] for line in report.code]
        more = f" and {len(packages) - MAX_GAPS} more" if len(packages) > MAX_GAPS else ""
        yield f"code of {', '.join(packages[:MAX_GAPS])}{more} changes"
