"""The change of each endpoint, as a state and as a sentence, from the plans."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Literal

from plan.document import EndpointSettings, Limits, PlannedEndpoint
from plan.updates import rejection_reason
from review.comparison import Comparison, EndpointPair
from review.meaning import in_the_same_words
from review.model_changes import ModelChange
from review.stack_differences import ResourceChange
from review.template_changes import stack_details
from review.values import KeyPath, ValueDifference, format_value, value_differences

State = Literal["new", "removed", "renamed", "changed", "unchanged"]

ENDPOINT_CONFIG = "AWS::SageMaker::EndpointConfig"


@dataclass(frozen=True)
class EndpointChange:
    """The change of an endpoint; `name` is its new name."""

    name: str
    state: State
    clauses: tuple[str, ...]


def endpoint_changes(
    comparison: Comparison, models: Sequence[ModelChange] = ()
) -> Iterator[EndpointChange]:
    """Yield the change of every endpoint of a stage; `models` are the changes of all models."""
    for stack, pair in comparison.endpoints.items():
        if comparison.is_moved and pair.after:  # the old endpoint remains in the old environment
            pair = EndpointPair(None, pair.after)
        changes = comparison.effective_changes(stack)
        own_models = [model for model in models if model.endpoint == pair.name]
        clauses = tuple(_clauses(comparison, stack, pair, changes, own_models))
        yield EndpointChange(pair.name, _state(pair, changes), clauses)


def _state(pair: EndpointPair, changes: Sequence[ResourceChange]) -> State:
    if pair.before is None:
        return "new"
    if pair.after is None:
        return "removed"
    if pair.before.settings.name != pair.after.settings.name:
        return "renamed"
    return "changed" if changes or pair.is_changed else "unchanged"


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
        settings = after.settings
        yield f"new, Triton {comparison.plans[1].release}"
        image: Any = settings.settings.get("image")
        if image:
            yield f"in the image {image['uri']}"
        for variant in settings.variants.values():
            types = " or ".join(variant.instance_types)
            yield f"{types}, instances: {limits_text(variant.instances)}"
        for component in settings.components.values():
            yield f"{component.name}, {limits_text(component.copies)} copies"
        yield f"models: {', '.join(sorted(after.models)) or 'no models'}"
    else:
        yield _update_text(before, after, changes)
        yield from setting_changes(before.settings, after.settings)
        yield from stack_details(comparison, stack, is_planned=before != after)
        if changed := [model for model in models if model.is_change]:
            yield f"models: {', '.join(map(_model_text, changed))}"


def setting_changes(before: EndpointSettings, after: EndpointSettings) -> Iterator[str]:
    """Yield each setting that differs: PATH: BEFORE -> AFTER, as in a stage's file.

    The values of a new object, such as a schedule, are one text; variables, of which dangers tell
    some, are not.
    """
    old, new = _settings(before), _settings(after)
    texts: dict[KeyPath, list[ValueDifference]] = {}
    for difference in value_differences(old, in_the_same_words(old, new)):
        parent = difference.key_path[:-1]
        is_new = difference.before is None and not reduce(_child, parent, old)
        is_part = is_new and parent != ("environment",)
        texts.setdefault(parent if is_part else difference.key_path, []).append(difference)
    for path, parts in texts.items():
        if len(parts) == 1:
            yield str(parts[0])
        else:
            values = (f"{part.key_path[-1]} {format_value(part.after)}" for part in parts)
            yield f"{'.'.join(map(str, path))}: none -> {', '.join(values)}"


def _child(parent: Any, key: str | int) -> Any:
    return parent.get(key) if isinstance(parent, dict) else None


def _settings(endpoint: EndpointSettings) -> dict[str, Any]:
    """Return the settings of an endpoint, without values that follow from others."""
    variants = {
        name: {
            "instance_type": " or ".join(variant.instance_types),
            "weight": variant.weight,
            "initial_count": variant.initial_count,
            **({} if variant.is_scaled else {"instances": limits_text(variant.instances)}),
        }
        for name, variant in endpoint.variants.items()
    }
    components = {
        name: {**component.model_dump(mode="json"), "copies": limits_text(component.copies)}
        for name, component in endpoint.components.items()
    }
    for variant in variants.values():
        if variant.get("instances") == str(variant["initial_count"]):
            del variant["initial_count"]
    return {
        "hosting": endpoint.hosting,
        "variants": variants,
        "components": components,
        **endpoint.settings,
    }


def _update_text(
    before: PlannedEndpoint, after: PlannedEndpoint, changes: Sequence[ResourceChange]
) -> str:
    if before.settings.name != after.settings.name:
        return f"created with this name, {before.settings.name} deleted"
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
    return f"updated in place, {update_text(after.settings)}"


def update_text(endpoint: EndpointSettings) -> str:
    """Return the update strategy of an endpoint as text."""
    update: Any = endpoint.settings.get("update") or {}
    match update:
        case {"strategy": "canary", "percent": percent, "wait_seconds": wait}:
            text = f"canary {percent} % for {wait} s"
        case {
            "strategy": "linear" | "rolling" as strategy,
            "percent": percent,
            "wait_seconds": wait,
        }:
            text = f"{strategy} {percent} % every {wait} s"
        case _:
            text = "all at once"
    rate = update.get("rollback_error_rate")
    return f"{text}, rollback at {100 * rate:g} % errors" if rate else text


def limits_text(limits: Limits) -> str:
    """Return the lowest and the highest capacity."""
    low, high = limits.minimum, limits.maximum
    return f"{low}" if low == high else f"{low}-{high}"


def _model_text(change: ModelChange) -> str:
    in_parentheses = f" (for {', '.join(change.targets)})" if change.targets else ""
    breaking = ", **breaking for clients**" if change.breaking_changes else ""
    return f"{change.model} {change.state}{in_parentheses}{breaking}"
