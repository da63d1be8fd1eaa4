"""Describers of instance counts, scaling policies and traffic shares."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from release.schedules import WeeklyLimits, weekly_limits
from review.describers.alarms import to_stage_units, variant_name
from review.describers.generic import falls_sharply, is_recreated
from review.endpoints import TemplateEndpoint
from review.property_change import ChangeLine, PropertyChange

LOST_SCALING = "lost_scaling"

LARGE_RISE_FACTOR = 5
"""A maximum that grows by this factor is probably a mistake; chosen for this project."""

DEFAULT_COOLDOWN = 300
"""Default seconds of a cooldown for endpoint variants (Application Auto Scaling API reference,
TargetTrackingScalingPolicyConfiguration)."""

MIN_COOLDOWN = 60
"""Effective minimum in seconds of a cooldown, because metrics are published once a minute."""


def describe_scalable_target(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield changed limits of a variant or component over a week, or that scaling is removed.

    In production, removed scaling and a sharp fall of a limit are dangers, and so is a minimum that
    no schedule raises any more. A large rise of the maximum is always a danger.
    """
    old, new = change.before, change.after
    name, unit = str((new or old)["ResourceId"]).rpartition("/")[2], _unit(change)
    before, after = (weekly_limits(side) if side else None for side in (old, new))
    limit_properties = ("ResourceId", "MinCapacity", "MaxCapacity")
    if before and after is None and not is_recreated(change, limit_properties):
        _, endpoint = change.endpoints
        is_component = endpoint and unit == "copies"
        target = endpoint and (endpoint.components if is_component else endpoint.variants).get(name)
        if target:
            count = f"{target.initial} {unit}, before {before.minimum} to {before.maximum}"
            yield _scaling_line(change, f"{name} is no longer scaled: {count}", is_loss=True)
    elif before and after and before != after:
        text = f"{name} over a week: {_limits_text(before)} -> {_limits_text(after)} {unit}"
        is_no_longer_raised = (
            before.minimum < before.mean_minimum > after.mean_minimum == after.minimum
        )
        is_loss = (
            is_no_longer_raised
            or falls_sharply(before.maximum, after.maximum)
            or falls_sharply(before.minimum, after.minimum)
        )
        if after.maximum >= LARGE_RISE_FACTOR * before.maximum:
            yield ChangeLine(text, "multiplied_capacity")
        else:
            yield _scaling_line(change, text, is_loss=is_loss)
    elif after and old is None and change.resource_change.stack in change.comparison.before:
        yield ChangeLine(f"{name} is scaled, {_limits_text(after)} {unit} over a week")


def _scaling_line(change: PropertyChange, text: str, *, is_loss: bool) -> ChangeLine:
    """Return a line that is the danger `lost_scaling` if it is a loss in production."""
    return ChangeLine(text, LOST_SCALING if is_loss and change.comparison.is_production else "")


def describe_initial_count(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield the initial number of instances; without scaling, the number does not change later."""
    text = f"initial instances of {change.item}: {change.value_change}"
    _, endpoint = change.endpoints
    variant = endpoint.variants.get(change.item) if endpoint else None
    falls = falls_sharply(change.before or 1, change.after or 1)
    yield _scaling_line(change, text, is_loss=bool(variant and not variant.scaled and falls))


def describe_traffic_shares(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield changed traffic shares of the variants.

    A share that triples is a danger, because the number of instances does not change with it.
    """
    before, after = _shares(change.before), _shares(change.after)
    for name in sorted(before.keys() & after.keys()):
        if before[name] == after[name]:
            continue
        text = f"{name} gets {before[name]:.3g} % -> {after[name]:.3g} % of the requests"
        triples = before[name] and falls_sharply(after[name], before[name])
        if triples and change.comparison.is_production:
            text += " immediately, with the same number of instances"
            yield ChangeLine(text, "shifted_traffic")
        else:
            yield ChangeLine(text)


def _shares(config: dict[str, Any] | None) -> dict[str, float]:
    """Return variant -> percentage of the requests."""
    variants = (config or {}).get("ProductionVariants", ())
    weights = {
        variant["VariantName"]: float(variant.get("InitialVariantWeight", 1))
        for variant in variants
    }
    return {name: 100 * weight / (sum(weights.values()) or 1) for name, weight in weights.items()}


def describe_capacity(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a changed limit that applies between schedules.

    Without schedules, `describe_scalable_target` describes the limit.
    """
    if any(side.get("Properties", {}).get("ScheduledActions") for side in change.resources):
        yield ChangeLine(f"{change.name} between schedules: {change.value_change}")


def describe_schedule(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield the time and the limits of a schedule, before and after."""
    texts = [_schedule_text(side, _unit(change)) for side in (change.before, change.after)]
    yield ChangeLine(f"schedule {change.item}: {texts[0]} -> {texts[1]}")


def describe_scaling_policy(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield the target of a scaling policy, in the units of a stage file.

    A target that triples is a danger, because the variant hardly scales out.
    """
    old, new = map(_target, (change.before, change.after), change.endpoints)
    target = new or old
    if not target and not (change.before and change.after):
        policy_type = (change.after or change.before).get("PolicyType")
        yield ChangeLine(f"{policy_type} policy {'new' if change.after else 'removed'}")
    if not target or old == new or change.resource_change.stack not in change.comparison.before:
        return
    texts = [side.text if side else "nothing" for side in (old, new)]
    rises = bool(old and new and old.metric == new.metric and falls_sharply(new.value, old.value))
    text = f"scales on {target.metric} at {texts[0]} -> {texts[1]}"
    yield _scaling_line(change, text, is_loss=rises)


def describe_cooldown(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a changed cooldown; in production, a scale-out cooldown that triples is a danger."""
    resource = change.resource_change.after or change.resource_change.before
    target = _target(resource["Properties"], None)
    name = change.path.rpartition(".")[2]
    text = f"{name} of {target.metric if target else 'a policy'}: {change.value_change} s"
    old, new = (
        max(DEFAULT_COOLDOWN if side is None else int(side), MIN_COOLDOWN)
        for side in (change.before, change.after)
    )
    is_existing = bool(change.resource_change.before)
    triples = name == "ScaleOutCooldown" and falls_sharply(new, old)
    yield _scaling_line(change, text, is_loss=is_existing and triples)


class _Target(NamedTuple):
    """The metric and the target value of a target-tracking policy."""

    metric: str
    value: float
    text: str


def _target(properties: dict[str, Any] | None, endpoint: TemplateEndpoint | None) -> _Target | None:
    """Return the target of a scaling policy, None without target tracking."""
    settings = (properties or {}).get("TargetTrackingScalingPolicyConfiguration")
    if not settings:
        return None
    predefined = settings.get("PredefinedMetricSpecification", {}).get("PredefinedMetricType")
    custom = settings.get("CustomizedMetricSpecification", {})
    expressions = [item["Expression"] for item in custom.get("Metrics", ()) if "Expression" in item]
    name = str(predefined or custom.get("MetricName") or "; ".join(expressions))
    metric = name.removeprefix("SageMakerVariant").removeprefix("SageMakerInferenceComponent")
    value = float(settings.get("TargetValue", 0))
    return _Target(metric, *to_stage_units(metric, value, endpoint, variant_name(custom)))


def _unit(change: PropertyChange) -> str:
    """Return `copies` for a component, `instances` for a variant."""
    resource_id = next(side["Properties"].get("ResourceId") for side in change.resources if side)
    return "copies" if str(resource_id).startswith("inference-component/") else "instances"


def _schedule_text(action: dict[str, Any] | None, unit: str) -> str:
    if action is None:
        return "none"
    limits = action.get("ScalableTargetAction", {})
    low, high = (limits.get(name, "as before") for name in ("MinCapacity", "MaxCapacity"))
    return f"{action['Schedule']} {action.get('Timezone', 'UTC')}, {low} to {high} {unit}"


def _limits_text(limits: WeeklyLimits) -> str:
    """Return the limits, with their means over a week if schedules change them."""
    text = f"{limits.minimum} to {limits.maximum}"
    if limits.mean_minimum == limits.minimum and limits.mean_maximum == limits.maximum:
        return text
    return f"{text} (on average {limits.mean_minimum:.3g} to {limits.mean_maximum:.3g})"
