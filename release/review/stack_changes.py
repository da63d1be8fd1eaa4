"""Descriptions of the changes in each stack."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from release.review.access.grants import grant_sentences
from release.review.comparison import Comparison
from release.review.dangers.replaced_resources import IMMUTABLE_TYPES
from release.review.money import cost_changes
from release.review.stack_differences import Change
from release.review.values import format_change, format_value
from release.tree import Template

EXPORT_PREFIX = "ExportsOutput"
"""The prefix of the CDK's names for outputs that other stacks import."""

MAX_CLAUSES = 12
"""Maximum number of clauses in a stack's description."""

MAX_TYPES = 4
"""Maximum number of resource types in a description; with more types, it has only total numbers."""

VARIANT_TYPES = ("AWS::SageMaker::", "AWS::ApplicationAutoScaling::")
"""Types with one resource for each variant: with a single variant, the resource is not named."""

DESCRIBED_TYPES = (
    *(*IMMUTABLE_TYPES, "AWS::ApplicationAutoScaling::ScalableTarget", "AWS::SageMaker::Endpoint"),
    *("AWS::ApplicationAutoScaling::ScalingPolicy", "AWS::SSM::Parameter", "Custom::TritonModel"),
)
"""Types in an endpoint's stack whose creation and deletion are described elsewhere."""

ACTIONS = {"WILL_CREATE": "created", "WILL_DESTROY": "deleted", "WILL_ORPHAN": "retained",
        "WILL_UPDATE": "changed"}  # fmt: skip
"""The CDK's impact -> verb in the report; `replaced` for all others."""


def notes(comparison: Comparison) -> Iterator[str]:
    """Yield sentences about changes of the stage's settings and of stacks without an endpoint."""
    yield from _stage(comparison)
    before, after = comparison.templates
    changed = {stack.stack: stack.changes for stack in comparison.stacks}
    for stack in sorted(before.keys() | after.keys()):
        changes = changed.get(stack, ())
        if before.get(stack) == after.get(stack) or (stack in comparison.endpoints and changes):
            continue  # described in the endpoint's sentence
        if stack not in after:
            clauses = ["no longer in the app; its stack stays until it is deleted"]
        elif stack not in before or comparison.moves:
            clauses = [f"new, {count_changes(changes)}"]
        else:
            clauses = stack_details(comparison, stack)
        yield f"**{stack}**: {'; '.join(clauses or [count_changes(changes)])}"


def stack_details(comparison: Comparison, stack: str) -> list[str]:
    """Return the changes in an existing stack that are not dangers, without duplicates."""
    if comparison.moves:
        return []
    before, after = (side[stack] for side in comparison.templates)
    parts = list(dict.fromkeys(_sections(before, after)))
    texts: dict[str, list[Change]] = {}
    for line in comparison.descriptions:
        if line.change.stack == stack and not line.rule:
            texts.setdefault(line.text, []).append(line.change)
    parts += [_with_resources(comparison, text, changes) for text, changes in texts.items()]
    for access in comparison.access:
        if access.stack == stack:
            parts += grant_sentences(access.lost, "may no longer")
            parts += grant_sentences(access.new_denials, "is now denied")
    covered = DESCRIBED_TYPES if stack in comparison.endpoints else ()
    created_or_deleted = [
        change
        for change in comparison.changes
        if change.stack == stack
        and not (change.before and change.after)
        and change.type not in covered
    ]
    if created_or_deleted:
        parts.append(count_changes(created_or_deleted))
    more = (
        [f"{len(parts) - MAX_CLAUSES} more in the difference"] if len(parts) > MAX_CLAUSES else []
    )
    return [*parts[:MAX_CLAUSES], *more]


def _sections(before: Template, after: Template) -> Iterator[str]:
    """Yield the changes in all sections except Resources."""
    for section in sorted((before.keys() | after.keys()) - {"Resources"}):
        old, new = before.get(section) or {}, after.get(section) or {}
        if old != new:
            yield from _outputs(old, new) if section == "Outputs" else [f"{section} changed"]


def _outputs(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    for name in sorted(before.keys() | after.keys()):
        values = [format_value((side.get(name) or {}).get("Value")) for side in (before, after)]
        if before.get(name) == after.get(name):
            continue
        yield (
            "exports changed"
            if name.startswith(EXPORT_PREFIX)
            else f"output {name}: {format_change(*values)}"
        )


def count_changes(changes: Sequence[Change]) -> str:
    """Return the numbers of resources, by type, that are created, changed, replaced or deleted."""
    kinds = Counter((change.type, ACTIONS.get(change.impact, "replaced")) for change in changes)
    if len(kinds) > MAX_TYPES:
        totals = Counter(action for _, action in kinds.elements())
        return ", ".join(f"{count} resource{'' if count == 1 else 's'} {action}"
                         for action, count in sorted(totals.items()))  # fmt: skip
    return ", ".join(f"{count} {kind} {action}" for (kind, action), count in sorted(kinds.items()))


def _with_resources(comparison: Comparison, text: str, changes: list[Change]) -> str:
    first, pair = changes[0], comparison.endpoints.get(changes[0].stack)
    if len(changes) > 1:
        kinds = {change.type for change in changes}
        return f"{text} ({len(changes)} {kinds.pop() if len(kinds) == 1 else 'resources'})"
    if (
        first.type.startswith(VARIANT_TYPES)
        and pair
        and pair.after
        and len(pair.after.variants) == 1
    ):
        return text
    return f"{first.path}: {text}"


def _stage(comparison: Comparison) -> Iterator[str]:
    if (
        comparison.file_after.production
        and comparison.before
        and not comparison.file_before.production
    ):
        yield f"**{comparison.stage}**: becomes production"
    old_limit, limit = comparison.file_before.max_monthly_usd, comparison.file_after.max_monthly_usd
    if old_limit != limit:
        texts = ("none" if amount is None else f"{amount:,.0f}" for amount in (old_limit, limit))
        yield f"**{comparison.stage}**: max_monthly_usd {' -> '.join(texts)}"
    sides = [change.after for change in cost_changes(comparison) if change.after]
    unknown = sorted({name for side in sides for name in side.unknown})
    if limit is not None and unknown:
        yield (
            f"**{comparison.stage}**: max_monthly_usd is checked without costs that are unknown: "
            f"{', '.join(unknown)}"
        )
