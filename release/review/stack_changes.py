"""Descriptions of the changes in each stack."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from release.review.access.grants import in_words
from release.review.comparison import Comparison
from release.review.dangers.replaced_resources import NORMAL
from release.review.differences import Change
from release.review.money import cost_changes
from release.review.values import arrow, text_of
from release.tree import Template

EXPORTS = "ExportsOutput"
"""The prefix of the CDK's names for outputs that other stacks import."""

MOST = 12
"""Maximum number of parts in a stack's description."""

MOST_KINDS = 4
"""Maximum number of resource types in a description; more are only counted."""

OBVIOUS = ("AWS::SageMaker::", "AWS::ApplicationAutoScaling::")
"""Types with one resource for each variant: with a single variant, its name is not shown."""

COVERED = (
    *(*NORMAL, "AWS::ApplicationAutoScaling::ScalableTarget", "AWS::SageMaker::Endpoint"),
    *("AWS::ApplicationAutoScaling::ScalingPolicy", "AWS::SSM::Parameter", "Custom::TritonModel"),
)
"""Types in an endpoint's stack whose creation and deletion other parts describe."""

DONE = {"WILL_CREATE": "created", "WILL_DESTROY": "deleted", "WILL_ORPHAN": "left behind",
        "WILL_UPDATE": "changed"}  # fmt: skip
"""The CDK's impact -> our word; all others are `replaced`."""


def notes(comparison: Comparison) -> Iterator[str]:
    """Yield sentences about the whole stage and about each stack without an endpoint."""
    yield from _stage(comparison)
    before, after = comparison.sides
    changed = {stack.stack: stack.changes for stack in comparison.stacks}
    for stack in sorted(before.keys() | after.keys()):
        changes = changed.get(stack, ())
        if before.get(stack) == after.get(stack) or (stack in comparison.endpoints and changes):
            continue  # it is in the endpoint's sentence
        if stack not in after:
            parts = ["no longer in the app; its stack stays until it is deleted"]
        elif stack not in before or comparison.moves:
            parts = [f"new, {counted(changes)}"]
        else:
            parts = details(comparison, stack)
        yield f"**{stack}**: {'; '.join(parts or [counted(changes)])}"


def details(comparison: Comparison, stack: str) -> list[str]:
    """Return the changes in a stack that stays and that are no dangers, each text once."""
    if comparison.moves:
        return []
    before, after = (side[stack] for side in comparison.sides)
    parts = list(dict.fromkeys(_sections(before, after)))
    texts: dict[str, list[Change]] = {}
    for line in comparison.described:
        if line.change.stack == stack and not line.rule:
            texts.setdefault(line.text, []).append(line.change)
    parts += [_with_resources(comparison, text, changes) for text, changes in texts.items()]
    for access in comparison.access:
        if access.stack == stack:
            parts += in_words(access.lost, "may no longer")
            parts += in_words(access.new_denials, "is now forbidden to")
    covered = COVERED if stack in comparison.endpoints else ()
    new_and_gone = [
        change
        for change in comparison.changes
        if change.stack == stack
        and not (change.before and change.after)
        and change.type not in covered
    ]
    if new_and_gone:
        parts.append(counted(new_and_gone))
    more = [f"{len(parts) - MOST} more in the difference"] if len(parts) > MOST else []
    return [*parts[:MOST], *more]


def _sections(before: Template, after: Template) -> Iterator[str]:
    """Yield the changes in other sections than Resources."""
    for section in sorted((before.keys() | after.keys()) - {"Resources"}):
        old, new = before.get(section) or {}, after.get(section) or {}
        if old != new:
            yield from _outputs(old, new) if section == "Outputs" else [f"other {section}"]


def _outputs(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    for name in sorted(before.keys() | after.keys()):
        values = [text_of((side.get(name) or {}).get("Value")) for side in (before, after)]
        if before.get(name) == after.get(name):
            continue
        yield "other exports" if name.startswith(EXPORTS) else f"output {name}: {arrow(*values)}"


def counted(changes: Sequence[Change]) -> str:
    """Return the numbers of resources, by type, that are created, changed, replaced or deleted."""
    kinds = Counter((change.type, DONE.get(change.impact, "replaced")) for change in changes)
    if len(kinds) > MOST_KINDS:
        done = Counter(how for _, how in kinds.elements())
        return ", ".join(f"{count} resource{'' if count == 1 else 's'} {how}"
                         for how, count in sorted(done.items()))  # fmt: skip
    return ", ".join(f"{count} {kind} {how}" for (kind, how), count in sorted(kinds.items()))


def _with_resources(comparison: Comparison, text: str, changes: list[Change]) -> str:
    first, pair = changes[0], comparison.endpoints.get(changes[0].stack)
    if len(changes) > 1:
        kinds = {change.type for change in changes}
        return f"{text} ({len(changes)} {kinds.pop() if len(kinds) == 1 else 'resources'})"
    if first.type.startswith(OBVIOUS) and pair and pair.after and len(pair.after.variants) == 1:
        return text
    return f"{first.path}: {text}"


def _stage(comparison: Comparison) -> Iterator[str]:
    if comparison.will_be.production and comparison.before and not comparison.was.production:
        yield f"**{comparison.stage}**: becomes production"
    was, most = comparison.was.max_monthly_usd, comparison.will_be.max_monthly_usd
    if was != most:
        texts = ("none" if amount is None else f"{amount:,.0f}" for amount in (was, most))
        yield f"**{comparison.stage}**: max_monthly_usd {' -> '.join(texts)}"
    sides = [change.after for change in cost_changes(comparison) if change.after]
    unknown = sorted({name for side in sides for name in side.unknown})
    if most is not None and unknown:
        yield (
            f"**{comparison.stage}**: what is not priced is not held against max_monthly_usd: "
            f"{', '.join(unknown)}"
        )
