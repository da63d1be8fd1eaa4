"""The first line of a report."""

from collections.abc import Iterator

from release.review.danger_groups import grouped
from release.review.money import CostChange, total
from release.review.report import Report


def summary(report: Report) -> str:
    """Return what a reviewer must know before anything else, in one line."""
    return ", ".join((*_dangers(report), *_changes(report), *_money(report), *_not_judged(report)))


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 danger`, `no dangers`, `2 dangers`."""
    return f"{number or 'no'} {noun}{'' if number == 1 else 's'}"


def _dangers(report: Report) -> Iterator[str]:
    if not report.is_complete:
        yield "not everything was reviewed"
    every = grouped(report.every_danger)
    count = sum(group.by is None for group in every)
    if count or report.is_complete:
        yield counted(count, "danger")
    if acknowledged := len(every) - count:
        yield f"{acknowledged} acknowledged"


def _changes(report: Report) -> Iterator[str]:
    stages = [stage for stage in report.stages if stage.no_base is None]
    states = [endpoint.state for stage in stages for endpoint in stage.endpoints]
    changed = sum(state != "unchanged" for state in states)
    if changed:
        noun = "endpoint changes" if len(states) == 1 else "endpoints change"
        yield f"{changed} of {len(states)} {noun}"
    elif stages:
        stacks = any(stage.stacks for stage in stages)
        yield "no endpoint changes" if stacks else "no change to any deployed resource"


def _money(report: Report) -> Iterator[str]:
    changed = changed_costs(report)
    for name, words in (("minimum", "at least"), ("maximum", "at most")):
        before = total((cost.before for cost in changed), name)
        after = total((cost.after for cost in changed), name)
        known = before.complete and after.complete
        if changed and not known:
            yield "costs without a price"
            return
        if difference := round(after.usd - before.usd):
            yield f"{words} {difference:+,} USD a month"
            return


def changed_costs(report: Report) -> list[CostChange]:
    """Return the costs that change, of all stages, and those of what runs on after it left."""
    costs = [cost for stage in report.stages for cost in stage.costs if stage.no_base is None]
    return [cost for cost in costs if cost.before != cost.after or cost.runs_on]


def _not_judged(report: Report) -> Iterator[str]:
    if report.not_judged:
        yield f"not judged: {', '.join(report.not_judged)}"
