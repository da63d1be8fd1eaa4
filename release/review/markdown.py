"""The review as Markdown, for the comment on a pull request."""

import re

import platform_facts
from release.review.findings import joined
from release.review.money import Cost
from release.review.report import Report, StageReview

LONGEST = 8000
"""Characters of one stack's difference."""

MOST = 60_000
"""Characters of everything: a comment on GitHub has 65,536."""

UNCHANGED = "no change to any deployed resource"

_MARKS = re.compile(r"(?<!\*)\*(?!\*)|[<`\\]")
"""What Markdown would take for markup in a text; ** is how sentences mark a name."""


def render(report: Report) -> str:
    """Return the whole comment: what matters first, the full difference folded at the end.

    Where everything together is too long for a comment, the differences are left to review.json.
    """
    whole = _report(report, LONGEST)
    return whole if len(whole) <= MOST else _report(report, 0)


def _report(report: Report, longest: int) -> str:
    lines = [f"# Review against {report.base}", ""]
    for stage in report.stages:
        if not stage.is_changed and stage.no_base is None:
            lines += [f"**{stage.stage}**: {UNCHANGED}", ""]
        else:
            lines += _stage(stage, longest)
    lines += _findings(report)
    return "\n".join(lines).rstrip() + "\n"


def _stage(stage: StageReview, longest: int) -> list[str]:
    lines = [f"## {stage.stage}", ""]
    if stage.no_base is not None:
        lines += [f"> Reviewed alone, without a base: {_text(stage.no_base)}", ""]
    lines += [f"- {_text(sentence)}" for sentence in stage.sentences]
    lines += ["", *_dangers(stage), *_models(stage), *_money(stage), *_access(stage)]
    return [*lines, *_difference(stage, longest)]


def _dangers(stage: StageReview) -> list[str]:
    if stage.no_base is not None:
        return []
    if not stage.dangers:
        return [
            "No danger found. (SageMaker replaces Model and EndpointConfig in every update: that "
            "is normal.)",
            "",
        ]
    lines = ["### Danger", ""]
    for danger, by in stage.dangers:
        lines.append(f"- {'✅' if by else '❌'} {_text(danger.message)}")
        if by:
            lines.append(f"  acknowledged by {_text(by.who)} until {by.until}: {_text(by.why)}")
        else:
            lines.append(f"  `{danger.key}`")
    return [*lines, ""]


def _models(stage: StageReview) -> list[str]:
    changed = [it for it in stage.models if it.state != "unchanged" or it.breaking]
    if not changed:
        return []
    lines = ["### Models", "", "| Endpoint | Model | | Because |", "| --- | --- | --- | --- |"]
    for it in changed:
        because = "<br>".join(map(_text, it.because))
        lines.append(f"| {it.endpoint} | {it.model} | {it.state} | {because} |")
    lines.append("")
    for it in changed:
        lines += [
            f"- **Breaking for clients of {it.model}**: {_text(line)}" for line in it.breaking
        ]
    return [*lines, ""] if any(it.breaking for it in changed) else lines


def _money(stage: StageReview) -> list[str]:
    if not stage.costs:
        return []
    lines = [
        "### Money",
        "",
        "| Endpoint | At least | As created | At most | An endpoint for each model, at least |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    for it in stage.costs:
        amounts = (
            _amounts([_amount(cost, name) for cost in (it.before, it.after)])
            for name in ("minimum", "initial", "maximum", "as_single_model")
        )
        lines.append(f"| {it.endpoint} | {' | '.join(amounts)} |")
    prices = platform_facts.prices()
    lines += [
        "",
        f"USD a month for instances on demand, by prices of {prices.date} ({prices.source}). "
        "Requests, storage and builds are not in it.",
        "",
    ]
    sides = [cost for it in stage.costs for cost in (it.before, it.after) if cost]
    for name in sorted({name for cost in sides for name in cost.unknown}):
        lines += [f"- {name} has no price in the table: make preflight RECORD=1"]
    return [*lines, ""] if lines[-1] else lines


def _amount(cost: Cost | None, name: str) -> float | None:
    return getattr(cost, name) if cost else None


def _amounts(values: list[float | None]) -> str:
    before, after = ("—" if value is None else f"{value:,.0f}" for value in values)
    return before if before == after else f"{before} → {after}"


def _access(stage: StageReview) -> list[str]:
    if not stage.access:
        return []
    folded = [f"- {_text(line)}" for line in stage.access]
    return [*_folded("What roles and resources that are new may do", folded), ""]


def _difference(stage: StageReview, longest: int) -> list[str]:
    lines = []
    for stack in stage.stacks:
        count = len(stack.changes)
        title = f"{stack.stack}: {count} resource{'' if count == 1 else 's'}"
        text = stack.text.strip("\n")
        if len(text) > longest:
            text = text[:longest].rpartition("\n")[0] + "\n... the rest is in review.json"
        lines += [*_folded(title, ["```", text, "```"]), ""]
    return lines


def _findings(report: Report) -> list[str]:
    found = joined([report.findings, *(it.findings for it in report.stages)])
    counts = f"{len(found.new)} new, {len(found.fixed)} fixed, {len(found.still)} still there"
    lines = [
        "## Linters",
        "",
        f"{counts} (model lint; cfn-lint and checkov where templates change).",
        "",
        *(f"- ❌ {_text(line)}" for line in found.new),
        *(f"- fixed: {_text(line)}" for line in found.fixed),
        "",
    ]
    meant = joined(it.acknowledged for it in report.stages)
    if meant.new or meant.fixed:
        title = (
            "What cdk-nag finds and the app acknowledges: "
            f"{len(meant.new)} more, {len(meant.fixed)} fewer than before"
        )
        more = (f"- ⚠️ {_text(line)}" for line in meant.new)
        fewer = (f"- gone: {_text(line)}" for line in meant.fixed)
        lines += _folded(title, [*more, *fewer])
    return lines


def _text(said: str) -> str:
    """Return a text that Markdown shows as it is."""
    return _MARKS.sub(lambda mark: f"\\{mark[0]}", said)


def _folded(title: str, lines: list[str]) -> list[str]:
    return ["<details>", f"<summary>{title}</summary>", "", *lines, "", "</details>"]
