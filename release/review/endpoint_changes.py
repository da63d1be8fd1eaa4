"""The change of each endpoint, as a state and as a sentence."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from release.review.comparison import Comparison, Pair
from release.review.describers.updates import in_words
from release.review.differences import Change
from release.review.endpoints import DeclaredEndpoint
from release.review.model_changes import ModelChange
from release.review.refusals import refusal
from release.review.stack_changes import details
from release.stack_endpoints import ENDPOINT_CONFIG, StackComponent, StackVariant

State = Literal["new", "removed", "renamed", "changed", "unchanged"]

MOST_FILES = 2
"""The sentence lists at most this number of files; the table of models has all."""


@dataclass(frozen=True)
class EndpointChange:
    """The change of an endpoint, with its new name."""

    name: str
    state: State
    sentence: str


def endpoint_changes(
    comparison: Comparison, models: Sequence[ModelChange] = ()
) -> Iterator[EndpointChange]:
    """Yield every endpoint of a stage."""
    for stack, both in comparison.endpoints.items():
        # A stage that moves is created anew; its old endpoints stay.
        pair = Pair(None, both.after) if comparison.moves and both.after else both
        changes = [change for change in comparison.changes if change.stack == stack]
        own = [model for model in models if model.endpoint == pair.name]
        parts = "; ".join(_parts(comparison, stack, pair, changes, own))
        yield EndpointChange(pair.name, _state(pair, changes), f"**{pair.name}**: {parts}")


def _state(pair: Pair, changes: Sequence[Change]) -> State:
    if pair.before is None:
        return "new"
    if pair.after is None:
        return "removed"
    if pair.before.name != pair.after.name:
        return "renamed"
    return "changed" if changes else "unchanged"


def _parts(
    comparison: Comparison,
    stack: str,
    pair: Pair,
    changes: Sequence[Change],
    models: Sequence[ModelChange],
) -> Iterator[str]:
    before, after = pair.before, pair.after
    if after is None:
        yield "no longer in the app; its stack stays until it is deleted"
    elif before is None:
        yield f"new, Triton {after.release}"
        yield ", ".join(map(_instances, after.variants.values()))
        if after.components:
            yield ", ".join(map(_copies, after.components.values()))
        yield f"models: {', '.join(sorted(after.models)) or 'no models'}"
    else:
        yield _how(before, after, changes)
        if before.release != after.release:
            older = ", an older release" if after.release < before.release else ""
            yield f"Triton {before.release} -> {after.release}{older}"
        yield from details(comparison, stack)
        if changed := [model for model in models if model.is_change]:
            yield f"models: {', '.join(map(_model, changed))}"


def _how(before: DeclaredEndpoint, after: DeclaredEndpoint, changes: Sequence[Change]) -> str:
    if before.name != after.name:
        return f"created under this name, {before.name} deleted"
    if not changes:
        return "no change"
    # Tags change in place, without replacing instances.
    changed = {change.type for change in changes if set(change.properties) != {"Tags"}}
    if not changed:
        return "other tags, its instances stay as they are"
    if ENDPOINT_CONFIG not in changed:
        return "its instances stay as they are"
    if reason := refusal(before, after):
        return f"**refused before it begins**: {reason}"
    count = after.rollback_alarms
    rollback = f"rollback on {count} alarm{'' if count == 1 else 's'}" if count else "no rollback"
    return f"updated in place, {in_words(after.deployment)}, {rollback}"


def _instances(variant: StackVariant) -> str:
    return f"{' or '.join(variant.instance_types)}, {_limits(variant)} instances"


def _copies(component: StackComponent) -> str:
    return f"{component.name}, {_limits(component)} copies"


def _limits(scaled: StackVariant | StackComponent) -> str:
    low, high = scaled.minimum, scaled.maximum
    return f"{low}" if low == high else f"{low}-{high}"


def _model(change: ModelChange) -> str:
    many = len(change.because) > MOST_FILES
    causes = f"{len(change.because)} files" if many else ", ".join(change.because)
    because = f" ({causes})" if causes else ""
    breaking = ", **breaking for clients**" if change.breaking else ""
    return f"{change.model} {change.state}{because}{breaking}"
