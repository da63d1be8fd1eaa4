"""Descriptions of the changes in each stack."""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from release.templates import Template
from review.access.grants import grant_sentences
from review.comparison import Comparison
from review.dangers.replaced_resources import IMMUTABLE_TYPES
from review.money import cost_changes
from review.stack_differences import ResourceChange
from review.values import format_change, format_value

EXPORT_PREFIX = "ExportsOutput"
"""The prefix of the CDK's names for outputs that other stacks import."""

MAX_CLAUSES = 12
"""Maximum number of clauses in a stack's description."""

MAX_TYPES = 4
"""Maximum number of resource types in a description. For more types, it has only total numbers."""

VARIANT_TYPE_PREFIXES = ("AWS::SageMaker::", "AWS::ApplicationAutoScaling::")
"""Types with one resource for each variant: with a single variant, the resource is not named."""

TYPES_DESCRIBED_ELSEWHERE = (
    *(*IMMUTABLE_TYPES, "AWS::ApplicationAutoScaling::ScalableTarget", "AWS::SageMaker::Endpoint"),
    *("AWS::ApplicationAutoScaling::ScalingPolicy", "AWS::SSM::Parameter", "Custom::TritonModel"),
)
"""Types in an endpoint's stack whose creation and deletion are described elsewhere."""

ACTIONS = {"WILL_CREATE": "created", "WILL_DESTROY": "deleted", "WILL_ORPHAN": "retained",
        "WILL_UPDATE": "changed"}  # fmt: skip
"""The CDK's impact -> participle in the report; `replaced` for all other impacts."""


def notes(comparison: Comparison) -> Iterator[str]:
    """Yield sentences about changes of the stage's settings and of stacks without an endpoint."""
    yield from _stage_notes(comparison)
    before, after = comparison.templates
    changes_by_stack = {difference.stack: difference.changes for difference in comparison.stacks}
    for stack in sorted(before.keys() | after.keys()):
        changes = changes_by_stack.get(stack, ())
        if before.get(stack) == after.get(stack) or (stack in comparison.endpoints and changes):
            continue  # described in the endpoint's sentence
        if stack not in after:
            clauses = ["no longer in the app; its stack stays until it is deleted"]
        elif stack not in before or comparison.is_moved:
            clauses = [f"new, {count_changes(changes)}"]
        else:
            clauses = stack_details(comparison, stack)
        yield f"**{stack}**: {'; '.join(clauses or [count_changes(changes)])}"


def stack_details(comparison: Comparison, stack: str) -> list[str]:
    """Return the changes in an existing stack that are not dangers, without duplicates."""
    if comparison.is_moved:
        return []
    before, after = (side[stack] for side in comparison.templates)
    clauses = list(dict.fromkeys(_section_changes(before, after)))
    changes_by_text: dict[str, list[ResourceChange]] = {}
    for description in comparison.descriptions:
        if description.change.stack == stack and not description.rule:
            changes_by_text.setdefault(description.text, []).append(description.change)
    clauses += [
        _with_resources(comparison, text, changes) for text, changes in changes_by_text.items()
    ]
    for access in comparison.access:
        if access.stack == stack:
            clauses += grant_sentences(access.removed_grants, "may no longer")
            clauses += grant_sentences(access.new_denials, "is now denied")
    omitted_types = TYPES_DESCRIBED_ELSEWHERE if stack in comparison.endpoints else ()
    created_or_deleted = [
        change
        for change in comparison.changes
        if change.stack == stack
        and not (change.before and change.after)
        and change.type not in omitted_types
    ]
    if created_or_deleted:
        clauses.append(count_changes(created_or_deleted))
    if len(clauses) > MAX_CLAUSES:
        more = f"{len(clauses) - MAX_CLAUSES} more in the difference"
        return [*clauses[:MAX_CLAUSES], more]
    return clauses


def _section_changes(before: Template, after: Template) -> Iterator[str]:
    """Yield the changes in all sections except Resources."""
    for section in sorted((before.keys() | after.keys()) - {"Resources"}):
        old, new = before.get(section) or {}, after.get(section) or {}
        if old != new:
            yield from _output_changes(old, new) if section == "Outputs" else [f"{section} changed"]


def _output_changes(before: dict[str, Any], after: dict[str, Any]) -> Iterator[str]:
    for name in sorted(before.keys() | after.keys()):
        values = [format_value((side.get(name) or {}).get("Value")) for side in (before, after)]
        if before.get(name) == after.get(name):
            continue
        yield (
            "exports changed"
            if name.startswith(EXPORT_PREFIX)
            else f"output {name}: {format_change(*values)}"
        )


def count_changes(changes: Sequence[ResourceChange]) -> str:
    """Return the numbers of resources, by type, that are created, changed, replaced or deleted."""
    counts = Counter((change.type, ACTIONS.get(change.impact, "replaced")) for change in changes)
    if len(counts) > MAX_TYPES:
        totals = Counter(action for _, action in counts.elements())
        return ", ".join(f"{count} resource{'' if count == 1 else 's'} {action}"
                         for action, count in sorted(totals.items()))  # fmt: skip
    return ", ".join(
        f"{count} {resource_type} {action}"
        for (resource_type, action), count in sorted(counts.items())
    )


def _with_resources(comparison: Comparison, text: str, changes: list[ResourceChange]) -> str:
    """Return a description with the path of the changed resource, or the number of resources."""
    if len(changes) > 1:
        types = {change.type for change in changes}
        return f"{text} ({len(changes)} {types.pop() if len(types) == 1 else 'resources'})"
    change, pair = changes[0], comparison.endpoints.get(changes[0].stack)
    has_one_variant = pair and pair.after and len(pair.after.variants) == 1
    if has_one_variant and change.type.startswith(VARIANT_TYPE_PREFIXES):
        return text
    return f"{change.path}: {text}"


def _stage_notes(comparison: Comparison) -> Iterator[str]:
    before, after = comparison.file_before, comparison.file_after
    if after.production and comparison.before and not before.production:
        yield f"**{comparison.stage}**: becomes production"
    old_limit, limit = before.max_monthly_usd, after.max_monthly_usd
    if old_limit != limit:
        texts = ("none" if amount is None else f"{amount:,.0f}" for amount in (old_limit, limit))
        yield f"**{comparison.stage}**: max_monthly_usd {' -> '.join(texts)}"
    costs = [change.after for change in cost_changes(comparison) if change.after]
    missing_prices = sorted({message for cost in costs for message in cost.missing_prices})
    if limit is not None and missing_prices:
        yield (
            f"**{comparison.stage}**: max_monthly_usd is checked without costs that are unknown: "
            f"{', '.join(missing_prices)}"
        )
