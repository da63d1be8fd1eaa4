"""The review as Markdown, for the comment on a pull request."""

import html
import re
from collections.abc import Iterable

import platform_facts
from release.review.findings import NOTHING, joined
from release.review.money import Cost, CostChange, Total, total
from release.review.report import Commits, Judged, Report, StageReview

LONGEST = 8000
"""Characters of one stack's difference."""

MOST = 60_000
"""Characters of everything: a comment on GitHub has 65,536."""

AMOUNTS = ("minimum", "maximum")
"""What the columns of the table of money are of `Cost`."""

MOST_DETAILS = 4
"""More parts of one danger than these are folded."""

CUT = "More than a comment holds is left out here, dangers perhaps: it is in review.json."
UNCHANGED = "no change to any deployed resource"

LONGEST_TEXT = 2000
"""Characters of one text, such as a danger's message."""

_MARKS = re.compile(r"(?<!\*)\*(?!\*)|[<`\\&|]|\](?=[\[(])|^\[|~(?=~)|^[>=~]|^[#+-](?!\w)")
"""What Markdown would take for markup in a text; ** is how sentences mark a name."""
_NUMBERED = re.compile(r"^(\d+)([.)])")
_LINKS = re.compile(r"(?<!\w)@(?=\w)|:(?=//)|\bwww(?=\.)")
"""After what GitHub looks for somebody to notify, or somewhere to lead (GitHub Flavored Markdown,
"Autolinks"). A space without width between keeps it from that, as Renovate's comments do."""

REORDERING = {
    character: f"U+{character:04X}"
    for character in (0x61C, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A))
}
"""Characters that have others shown in another order than they stand, such as a permission's
(Unicode Technical Report 36, "Bidirectional Text Spoofing"; CVE-2021-42574)."""


def render(report: Report) -> str:
    """Return the whole comment: what matters first, the full difference folded at the end.

    Where everything together is too long for a comment, the differences are left to review.json,
    and where that is not enough, the end.
    """
    whole = _report(report, LONGEST)
    if len(whole) > MOST:
        whole = _report(report, 0)
    if len(whole) > MOST:
        shown, _, _ = whole[:MOST].rpartition("\n\n")
        open_parts = shown.count("<details>") - shown.count("</details>")
        whole = "\n\n".join([shown, *["</details>"] * open_parts, f"❌ **{CUT}**\n"])
    return whole


def _report(report: Report, longest: int) -> str:
    lines = [
        f"# Review against {plain(report.base)}",
        "",
        *_commits(report.commits),
        *_gaps(report),
    ]
    lines += _repository(report)
    for stage in report.stages:
        if not stage.is_changed and stage.no_base is None:
            lines += [f"**{plain(stage.stage)}**: {UNCHANGED}", ""]
        else:
            lines += _stage(stage, longest)
    lines += _all_stages(report)
    if report.stages or report.findings != NOTHING:
        lines += _findings(report)
    return ("\n".join(lines).rstrip() + "\n").translate(REORDERING)


def _commits(commits: Commits) -> list[str]:
    if commits.head is None:
        return []
    base = f"`{commits.base[:12]}` → " if commits.base else ""
    more = " with changes that are not committed" if commits.dirty else ""
    return [f"{base}`{commits.head[:12]}`{more}", ""]


def _gaps(report: Report) -> list[str]:
    """Return what was not reviewed, before all that was: what is not named here may be there."""
    if report.is_complete:
        return []
    lines = ["❌ **Not everything was reviewed.** Dangers may be missing below.", ""]
    for it in report.gaps:
        first, *more = it.reason.splitlines() or [""]
        lines.append(f"- **{plain(it.what)}**: {plain(first)}")
        lines += [f"  {plain(line)}" for line in more if line.strip()]
    return [*lines, ""]


def _repository(report: Report) -> list[str]:
    lines = []
    if report.dangers:
        lines += ["## The repository", "", "### Danger", "", *_listed(report.dangers), ""]
    if report.unmatched:
        lines += ["Acknowledged, and no danger of this change: remove it, or mend its name.", ""]
        lines += [
            f"- {_code(it.danger)} ({plain(it.who)}, until {it.until})" for it in report.unmatched
        ]
        lines.append("")
    return lines


def _stage(stage: StageReview, longest: int) -> list[str]:
    lines = [f"## {plain(stage.stage)}", ""]
    if stage.no_base is not None:
        lines += ["> Not compared: this is the head alone. No danger was looked for.", ""]
    lines += [f"- {plain(sentence)}" for sentence in (*stage.sentences, *stage.notes)]
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
    return ["### Danger", "", *_listed(stage.dangers), ""]


def _listed(dangers: Iterable[Judged]) -> list[str]:
    lines = []
    for danger, by in dangers:
        lines.append(f"- {'✅' if by else '❌'} {plain(danger.message)}")
        if by:
            lines.append(f"  acknowledged by {plain(by.who)} until {by.until}: {plain(by.why)}")
        else:
            lines.append(f"  {_code(danger.key)}")
        details = [f"- {plain(it)}" for it in danger.details]
        if len(details) > MOST_DETAILS:
            details = ["", *_folded(f"all {len(details)}", details), ""]
        lines += [f"  {it}".rstrip() for it in details]
    return lines


def _models(stage: StageReview) -> list[str]:
    changed = [it for it in stage.models if it.state != "unchanged" or it.breaking]
    if not changed:
        return []
    lines = ["### Models", "", "| Endpoint | Model | | Because |", "| --- | --- | --- | --- |"]
    for it in changed:
        because = "<br>".join(plain(str(cause)) for cause in it.because)
        lines.append(f"| {plain(it.endpoint)} | {plain(it.model)} | {it.state} | {because} |")
    lines.append("")
    for it in changed:
        lines += [
            f"- **Breaking for clients of {plain(it.model)}**: {plain(line)}"
            for line in it.breaking
        ]
    return [*lines, ""] if any(it.breaking for it in changed) else lines


def _money(stage: StageReview) -> list[str]:
    if not stage.costs:
        return []
    lines = [
        "### Money",
        "",
        "| Endpoint | At least | At most |",
        "| --- | ---: | ---: |",
    ]
    for it in stage.costs:
        amounts = (_amounts(it.before, it.after, name) for name in AMOUNTS)
        name = f"{it.endpoint} (runs on until it is deleted)" if it.runs_on else it.endpoint
        lines.append(f"| {plain(name)} | {' | '.join(amounts)} |")
    if len(stage.costs) > 1:
        amounts = (_together(stage.costs, name) for name in AMOUNTS)
        lines.append(f"| together | {' | '.join(amounts)} |")
    prices = platform_facts.prices()
    lines += [
        "",
        f"USD a month for instances on demand, by prices of {prices.date} ({prices.source}). "
        "Requests, storage and builds are not in it.",
        "",
    ]
    sides = [cost for it in stage.costs for cost in (it.before, it.after) if cost]
    for name in sorted({name for cost in sides for name in cost.unknown}):
        lines += [f"- {plain(name)}: add it to platform_facts/prices.toml"]
    return [*lines, ""] if lines[-1] else lines


def _all_stages(report: Report) -> list[str]:
    """Return what stages cost together, where a change is of more than one."""
    changed = [it for it in report.stages if any(cost.before != cost.after for cost in it.costs)]
    if len(changed) < 2:
        return []
    costs = [cost for it in report.stages for cost in it.costs]
    least, most = (_together(costs, name) for name in ("minimum", "maximum"))
    return [f"All stages, USD a month: at least {least}, at most {most}", ""]


def _amounts(before: Cost | None, after: Cost | None, name: str) -> str:
    return _arrow(*(total([it], name) for it in (before, after)))


def _together(costs: Iterable[CostChange], name: str) -> str:
    listed = list(costs)
    before, after = [it.before for it in listed], [it.after for it in listed]
    return _arrow(total(before, name), total(after, name))


def _arrow(before: Total, after: Total) -> str:
    if before == after:
        return _said(after)
    change = f" ({after.usd - before.usd:+,.0f})" if before.complete and after.complete else ""
    return f"{_said(before)} → {_said(after)}{change}"


def _said(amount: Total) -> str:
    if amount.complete:
        return f"{amount.usd:,.0f}"
    return f"{amount.usd:,.0f} + not priced" if amount.usd else "not priced"


def _access(stage: StageReview) -> list[str]:
    if not stage.access:
        return []
    folded = [f"- {plain(line)}" for line in stage.access]
    return [*_folded("What roles and resources that are new may do", folded), ""]


def _difference(stage: StageReview, longest: int) -> list[str]:
    lines = []
    for stack in stage.stacks:
        count = len(stack.changes)
        title = f"{stack.stack}: {count} resource{'' if count == 1 else 's'}"
        if stack.stack in stage.left:
            title += ", which stay: the stack is no longer in the app"
        text = stack.text.strip("\n")
        if len(text) > longest:
            text = text[:longest].rpartition("\n")[0] + "\n... the rest is in review.json"
        fence = _fence(text, at_least=3)
        lines += [*_folded(title, [fence, text, fence]), ""]
    return lines


def _findings(report: Report) -> list[str]:
    found = joined([report.findings, *(it.findings for it in report.stages)])
    counts = f"{len(found.new)} new, {len(found.fixed)} fixed, {len(found.still)} still there"
    lines = [
        "## Linters",
        "",
        f"{counts} (model lint; cfn-lint and checkov where templates change).",
        "",
        *(f"- ❌ {plain(line)}" for line in found.new),
        *(f"- fixed: {plain(line)}" for line in found.fixed),
        "",
    ]
    meant = joined(it.acknowledged for it in report.stages)
    if meant.new or meant.fixed:
        title = (
            "What cdk-nag finds and the app acknowledges: "
            f"{len(meant.new)} more, {len(meant.fixed)} fewer than before"
        )
        more = (f"- ⚠️ {plain(line)}" for line in meant.new)
        fewer = (f"- gone: {plain(line)}" for line in meant.fixed)
        lines += _folded(title, [*more, *fewer])
    return lines


def plain(text: str) -> str:
    """Return a text that Markdown shows as it is, on one line: it brings no markup."""
    line = " ".join(text.split())
    if len(line) > LONGEST_TEXT:
        line = f"{line[:LONGEST_TEXT]} ..."
    line = _MARKS.sub(lambda mark: f"\\{mark[0]}", line)
    return _LINKS.sub("\\g<0>\N{ZERO WIDTH SPACE}", _NUMBERED.sub(r"\1\\\2", line))


def _code(text: str) -> str:
    """Return a text as a code span, whatever backticks it has."""
    line = " ".join(text.split())
    marks = _fence(line, at_least=1)
    return f"{marks}{line}{marks}" if len(marks) == 1 else f"{marks} {line} {marks}"


def _fence(text: str, *, at_least: int) -> str:
    """Return more backticks than any row of them in a text."""
    return "`" * max(at_least, *(len(it) + 1 for it in re.findall("`+", text)), 0)


def _folded(title: str, lines: list[str]) -> list[str]:
    summary = _LINKS.sub("\\g<0>\N{ZERO WIDTH SPACE}", html.escape(" ".join(title.split())))
    return ["<details>", f"<summary>{summary}</summary>", "", *lines, "", "</details>"]
