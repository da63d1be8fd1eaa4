"""The first line of a report."""

from collections.abc import Iterable, Iterator

from release.review.money import total
from release.review.report import ChangeReport

MAX_GAPS = 3
"""Maximum number of gaps that the line names; for further gaps, it has only their number."""


def summary(report: ChangeReport) -> str:
    """Return the most important facts of a report, in one line."""
    return ", ".join((*_dangers(report), *_changes(report), *_money(report), *_not_judged(report)))


def _dangers(report: ChangeReport) -> Iterator[str]:
    if not report.is_complete:
        yield f"not everything was reviewed ({_listed(gap.part for gap in report.gaps)})"
    causes = report.causes
    count = sum(cause.first.acknowledgement is None for cause in causes)
    if count or report.is_complete:
        yield f"{count or 'no'} danger{'' if count == 1 else 's'}"
    if acknowledged := len(causes) - count:
        yield f"{acknowledged} acknowledged"


def _changes(report: ChangeReport) -> Iterator[str]:
    count = sum(1 for _ in report.all_of("endpoints"))
    if changed := len(report.changed_endpoints):
        yield f"{changed} of {count} {'endpoint changes' if count == 1 else 'endpoints change'}"
    elif report.stages and report.is_complete:
        stacks = any(report.all_of("stacks"))
        yield "no endpoint changes" if stacks else "no change to any deployed resource"


def _money(report: ChangeReport) -> Iterator[str]:
    changed = report.changed_costs
    for name, words in (("minimum", "at least"), ("maximum", "at most")):
        before = total((cost.before for cost in changed), name)
        after = total((cost.after for cost in changed), name)
        if not (before.complete and after.complete):
            yield "cost unknown: no price for an instance type"
            return
        if difference := round(after.usd - before.usd):
            yield f"{words} {difference:+,} USD a month"
            return


def _not_judged(report: ChangeReport) -> Iterator[str]:
    if report.not_judged:
        yield f"not judged: {', '.join(report.not_judged)}"


def _listed(names: Iterable[str]) -> str:
    gaps = list(names)
    more = len(gaps) - MAX_GAPS
    return ", ".join(gaps[:MAX_GAPS]) + (f" and {more} more" if more > 0 else "")
