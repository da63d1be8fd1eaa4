"""Describers of instance counts, scaling policies and traffic shares."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from release.review.describers.alarms import in_units, variant_of
from release.review.describers.generic import falls_sharply, is_recreated
from release.review.endpoints import TemplateEndpoint
from release.review.property_change import ChangeLine, PropertyChange
from release.schedules import WeeklyLimits, weekly_limits

RULE, COSTLY, SHIFTED = "lost_scaling", "multiplied_capacity", "shifted_traffic"

LARGE_RISE = 5
"""A maximum that grows by this factor is probably a mistake; chosen for this project."""

COOLDOWN = 300
"""Default seconds of a cooldown for endpoint variants (Application Auto Scaling API reference,
TargetTrackingScalingPolicyConfiguration)."""

SHORTEST = 60
"""Effective minimum in seconds of a cooldown, because metrics are published once a minute."""


def scalable_target(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield changed limits of a variant or component over a week, or that scaling is removed.

    Without scaling, a variant keeps its count at any load. It is also a danger if no schedule
    raises the minimum any more.
    """
    old, new = change.before, change.after
    name, unit = str((new or old)["ResourceId"]).rpartition("/")[2], _unit(change)
    before, after = (weekly_limits(side) if side else None for side in (old, new))
    identity = ("ResourceId", "MinCapacity", "MaxCapacity")
    if before and after is None and not is_recreated(change, identity):
        endpoint = change.pair.after if change.pair else None
        has_copies = endpoint and unit == "copies"
        scaled = endpoint and (endpoint.components if has_copies else endpoint.variants).get(name)
        if scaled:
            count = f"{scaled.initial} {unit}, before {before.minimum} to {before.maximum}"
            production = change.comparison.production
            yield ChangeLine(f"{name} is no longer scaled: {count}", RULE if production else "")
    elif before and after and before != after:
        text = f"{name} over a week: {_text(before)} -> {_text(after)} {unit}"
        flat = before.minimum < before.mean_minimum > after.mean_minimum == after.minimum
        limits = (before.maximum, after.maximum), (before.minimum, after.minimum)
        low = flat or any(falls_sharply(*limit) for limit in limits)
        rule = RULE if low and change.comparison.production else ""
        yield ChangeLine(text, COSTLY if after.maximum >= LARGE_RISE * before.maximum else rule)
    elif after and old is None and change.change.stack in change.comparison.before:
        yield ChangeLine(f"{name} is scaled, {_text(after)} {unit} over a week")


def initial_count(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield the initial number of instances, which is the constant number without scaling."""
    text = f"initial instances of {change.item}: {change.value_change}"
    endpoint = change.pair.after if change.pair else None
    variant = endpoint.variants.get(change.item) if endpoint else None
    is_low = variant and not variant.scaled and falls_sharply(change.before or 1, change.after or 1)
    yield ChangeLine(text, RULE if is_low and change.comparison.production else "")


def traffic_shares(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield changed traffic shares of the variants.

    A share that triples is a danger, because the number of instances does not change with it.
    """
    before, after = _shares(change.before), _shares(change.after)
    for name in sorted(before.keys() & after.keys()):
        if before[name] == after[name]:
            continue
        text = f"{name} gets {before[name]:.3g} % -> {after[name]:.3g} % of the requests"
        triples = before[name] and falls_sharply(after[name], before[name])
        if triples and change.comparison.production:
            text += " immediately, with the same number of instances"
            yield ChangeLine(text, SHIFTED)
        else:
            yield ChangeLine(text)


def _shares(config: dict[str, Any] | None) -> dict[str, float]:
    """Return variant -> percentage of the requests."""
    variants = (config or {}).get("ProductionVariants", ())
    weights = {item["VariantName"]: float(item.get("InitialVariantWeight", 1)) for item in variants}
    return {name: 100 * weight / (sum(weights.values()) or 1) for name, weight in weights.items()}


def capacity(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a changed limit between schedules; without schedules, `scalable_target` shows it."""
    if any(side.get("Properties", {}).get("ScheduledActions") for side in change.resources):
        yield ChangeLine(f"{change.name} between schedules: {change.value_change}")


def schedule(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield the time and the limits of a schedule, before and after."""
    texts = [_schedule(side, _unit(change)) for side in (change.before, change.after)]
    yield ChangeLine(f"schedule {change.item}: {texts[0]} -> {texts[1]}")


def scaling_policy(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield the target of a scaling policy, in the units of a stage file.

    A target that triples is a danger, because the variant hardly scales out.
    """
    endpoints = (change.pair.before, change.pair.after) if change.pair else (None, None)
    old, new = (
        _target(side, endpoint)
        for side, endpoint in zip((change.before, change.after), endpoints, strict=True)
    )
    known = new or old
    if not known and not (change.before and change.after):
        kind = (change.after or change.before).get("PolicyType")
        yield ChangeLine(f"{kind} policy {'new' if change.after else 'removed'}")
    if not known or old == new or change.change.stack not in change.comparison.before:
        return
    texts = [target.text if target else "nothing" for target in (old, new)]
    rises = bool(old and new and old.metric == new.metric and falls_sharply(new.value, old.value))
    rule = RULE if rises and change.comparison.production else ""
    yield ChangeLine(f"scales on {known.metric} at {texts[0]} -> {texts[1]}", rule)


def cooldown(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a changed cooldown; a triple scale-out cooldown is a danger in production."""
    target = _target((change.change.after or change.change.before)["Properties"], None)
    name = change.path.rpartition(".")[2]
    text = f"{name} of {target.metric if target else 'a policy'}: {change.value_change} s"
    sides = (COOLDOWN if side is None else int(side) for side in (change.after, change.before))
    seconds = [max(side, SHORTEST) for side in sides]
    grows = name == "ScaleOutCooldown" and change.change.before and falls_sharply(*seconds)
    yield ChangeLine(text, RULE if grows and change.comparison.production else "")


class _Target(NamedTuple):
    """The metric and the target value of a target-tracking policy."""

    metric: str
    value: float
    text: str


def _target(properties: dict[str, Any] | None, endpoint: TemplateEndpoint | None) -> _Target | None:
    settings = (properties or {}).get("TargetTrackingScalingPolicyConfiguration")
    if not settings:
        return None
    predefined = settings.get("PredefinedMetricSpecification", {}).get("PredefinedMetricType")
    custom = settings.get("CustomizedMetricSpecification", {})
    expressions = [item["Expression"] for item in custom.get("Metrics", ()) if "Expression" in item]
    named = predefined or custom.get("MetricName") or "; ".join(expressions)
    metric = str(named).removeprefix("SageMakerVariant").removeprefix("SageMakerInferenceComponent")
    value = float(settings.get("TargetValue", 0))
    return _Target(metric, *in_units(metric, value, endpoint, variant_of(custom)))


def _unit(change: PropertyChange) -> str:
    """Return `copies` for a component, `instances` for a variant."""
    target = next(side["Properties"].get("ResourceId") for side in change.resources if side)
    return "copies" if str(target).startswith("inference-component/") else "instances"


def _schedule(action: dict[str, Any] | None, unit: str) -> str:
    if action is None:
        return "none"
    new = action.get("ScalableTargetAction", {})
    least, most = (new.get(item, "as before") for item in ("MinCapacity", "MaxCapacity"))
    return f"{action['Schedule']} {action.get('Timezone', 'UTC')}, {least} to {most} {unit}"


def _text(limits: WeeklyLimits) -> str:
    """Return the limits, with their means over a week if schedules change them."""
    text = f"{limits.minimum} to {limits.maximum}"
    if limits.mean_minimum == limits.minimum and limits.mean_maximum == limits.maximum:
        return text
    return f"{text} (on average {limits.mean_minimum:.3g} to {limits.mean_maximum:.3g})"
