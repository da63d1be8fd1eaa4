"""The change of each endpoint, as a state and as a sentence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from release.stack_endpoints import ENDPOINT_CONFIG, StackComponent, StackVariant
from review.comparison import Comparison, EndpointPair
from review.describers.updates import deployment_text
from review.endpoints import TemplateEndpoint
from review.model_changes import ModelChange
from review.rejected_updates import rejection_reason
from review.stack_changes import stack_details
from review.stack_differences import ResourceChange

State = Literal["new", "removed", "renamed", "changed", "unchanged"]

MAX_FILES = 2
"""Maximum number of files in the sentence; the table of models lists all."""


@dataclass(frozen=True)
class EndpointChange:
    """The change of an endpoint; `name` is its new name."""

    name: str
    state: State
    sentence: str


def endpoint_changes(
    comparison: Comparison, models: Sequence[ModelChange] = ()
) -> Iterator[EndpointChange]:
    """Yield the change of every endpoint of a stage; `models` are the changes of all models."""
    for stack, pair in comparison.endpoints.items():
        if comparison.is_moved and pair.after:  # the old endpoint remains in the old environment
            pair = EndpointPair(None, pair.after)
        changes = [change for change in comparison.changes if change.stack == stack]
        own_models = [model for model in models if model.endpoint == pair.name]
        clauses = "; ".join(_clauses(comparison, stack, pair, changes, own_models))
        yield EndpointChange(pair.name, _state(pair, changes), f"**{pair.name}**: {clauses}")


def _state(pair: EndpointPair, changes: Sequence[ResourceChange]) -> State:
    if pair.before is None:
        return "new"
    if pair.after is None:
        return "removed"
    if pair.before.name != pair.after.name:
        return "renamed"
    return "changed" if changes else "unchanged"


def _clauses(
    comparison: Comparison,
    stack: str,
    pair: EndpointPair,
    changes: Sequence[ResourceChange],
    models: Sequence[ModelChange],
) -> Iterator[str]:
    before, after = pair.before, pair.after
    if after is None:
        yield "no longer in the app; its stack stays until it is deleted"
    elif before is None:
        yield f"new, Triton {after.release}"
        yield ", ".join(map(_instances_text, after.variants.values()))
        if after.components:
            yield ", ".join(map(_copies_text, after.components.values()))
        yield f"models: {', '.join(sorted(after.models)) or 'no models'}"
    else:
        yield _update_text(before, after, changes)
        if before.release != after.release:
            older = ", an older release" if after.release < before.release else ""
            yield f"Triton {before.release} -> {after.release}{older}"
        yield from stack_details(comparison, stack)
        if changed := [model for model in models if model.is_change]:
            yield f"models: {', '.join(map(_model_text, changed))}"


def _update_text(
    before: TemplateEndpoint, after: TemplateEndpoint, changes: Sequence[ResourceChange]
) -> str:
    if before.name != after.name:
        return f"created with this name, {before.name} deleted"
    if not changes:
        return "no change"
    # An update of only the tags does not replace instances.
    changed_types = {change.type for change in changes if set(change.properties) != {"Tags"}}
    if not changed_types:
        return "tags changed, its instances are not replaced"
    if ENDPOINT_CONFIG not in changed_types:
        return "its instances are not replaced"
    if reason := rejection_reason(before, after):
        return f"**rejected before it begins**: {reason}"
    count = after.rollback_alarms
    rollback = f"rollback on {count} alarm{'' if count == 1 else 's'}" if count else "no rollback"
    return f"updated in place, {deployment_text(after.deployment)}, {rollback}"


def _instances_text(variant: StackVariant) -> str:
    return f"{' or '.join(variant.instance_types)}, {_limits(variant)} instances"


def _copies_text(component: StackComponent) -> str:
    return f"{component.name}, {_limits(component)} copies"


def _limits(target: StackVariant | StackComponent) -> str:
    low, high = target.minimum, target.maximum
    return f"{low}" if low == high else f"{low}-{high}"


def _model_text(change: ModelChange) -> str:
    count = len(change.causes)
    causes = f"{count} files" if count > MAX_FILES else ", ".join(change.causes)
    in_parentheses = f" ({causes})" if causes else ""
    breaking = ", **breaking for clients**" if change.breaking_changes else ""
    return f"{change.model} {change.state}{in_parentheses}{breaking}"
