"""How many instances there are, and what decides it."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from release.review.describers.alarms import in_units, variant_of
from release.review.describers.generic import falls, is_moved
from release.review.endpoints import DeclaredEndpoint
from release.review.property_change import ChangeLine, PropertyChange
from release.schedules import WeeklyLimits, weekly_limits

RULE, COSTLY, SHIFTED = "lost_scaling", "multiplied_capacity", "shifted_traffic"

LARGE_RISE = 5
"""A maximum that grows by this factor is more often a mistake than meant: our choice."""

COOLDOWN = 300
"""Seconds of endpoint variants, unless they are set (Application Auto Scaling API reference,
TargetTrackingScalingPolicyConfiguration)."""

SHORTEST = 60
"""Seconds of a cooldown: metrics come once a minute, and so a shorter one changes nothing."""


def scalable_target(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield the limits of a variant or component over a week, and that it is no longer scaled.

    A variant that was scaled keeps the number that it has, whatever the load. Where schedules
    raised its minimum and none does any more, it is as low all week as it was at its lowest.
    """
    old, new = change.before, change.after
    name, unit = str((new or old)["ResourceId"]).rpartition("/")[2], _unit(change)
    was, now = (weekly_limits(side) if side else None for side in (old, new))
    if was and now is None and not is_moved(change, ("ResourceId", "MinCapacity", "MaxCapacity")):
        after = change.pair.after if change.pair else None
        of_copies = after and unit == "copies"
        scaled = after and (after.components if of_copies else after.variants).get(name)
        if scaled:
            count = f"{scaled.initial} {unit}, before {was.minimum} to {was.maximum}"
            production = change.comparison.production
            yield ChangeLine(f"{name} is no longer scaled: {count}", RULE if production else "")
    elif was and now and was != now:
        text = f"{name} over a week: {_text(was)} -> {_text(now)} {unit}"
        flat = was.minimum < was.mean_minimum > now.mean_minimum == now.minimum
        low = flat or falls(was.maximum, now.maximum) or falls(was.minimum, now.minimum)
        rule = RULE if low and change.comparison.production else ""
        yield ChangeLine(text, COSTLY if now.maximum >= LARGE_RISE * was.maximum else rule)
    elif now and old is None and change.change.stack in change.comparison.before:
        yield ChangeLine(f"{name} is scaled, {_text(now)} {unit} over a week")


def initial_count(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield the number of instances of a variant; without scaling it is the one that there is."""
    text = f"initial instances of {change.item}: {change.arrow}"
    endpoint = change.pair.after if change.pair else None
    variant = endpoint.variants.get(change.item) if endpoint else None
    is_low = variant and not variant.scaled and falls(change.before or 1, change.after or 1)
    yield ChangeLine(text, RULE if is_low and change.comparison.production else "")


def shares(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield the share of the calls of each variant that stays.

    With three times as many calls at once, its instances have three times the load.
    """
    before, after = _shares(change.before), _shares(change.after)
    for name in sorted(before.keys() & after.keys()):
        if before[name] == after[name]:
            continue
        text = f"{name} gets {before[name]:.3g} % -> {after[name]:.3g} % of the calls"
        grows = before[name] and falls(after[name], before[name]) and change.comparison.production
        yield ChangeLine(f"{text} at once, with the instances that it has" if grows else text,
                         SHIFTED if grows else "")  # fmt: skip


def _shares(config: dict[str, Any] | None) -> dict[str, float]:
    """Return the percentage of the calls that each variant of a configuration gets."""
    variants = (config or {}).get("ProductionVariants", ())
    weights = {each["VariantName"]: float(each.get("InitialVariantWeight", 1)) for each in variants}
    return {name: 100 * weight / (sum(weights.values()) or 1) for name, weight in weights.items()}


def capacity(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a limit between schedules; without any, it is the one of the whole week."""
    if any(side.get("Properties", {}).get("ScheduledActions") for side in change.sides):
        yield ChangeLine(f"{change.name} between schedules: {change.arrow}")


def schedule(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield when a schedule acts, and on which limits, before and after."""
    texts = [_schedule(side, _unit(change)) for side in (change.before, change.after)]
    yield ChangeLine(f"schedule {change.item}: {texts[0]} -> {texts[1]}")


def scaling_policy(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield the target of a scaling policy, in the units of a stage's file.

    With a target of three times as much, a variant hardly grows: that is as if it were not scaled.
    """
    endpoints = (change.pair.before, change.pair.after) if change.pair else (None, None)
    old, new = (
        _target(side, endpoint)
        for side, endpoint in zip((change.before, change.after), endpoints, strict=True)
    )
    known = new or old
    if not known and not (change.before and change.after):
        kind = (change.after or change.before).get("PolicyType")
        yield ChangeLine(f"{kind} policy {'new' if change.after else 'gone'}")
    if not known or old == new or change.change.stack not in change.comparison.before:
        return
    texts = [target.text if target else "nothing" for target in (old, new)]
    hardly = bool(old and new and old.metric == new.metric and falls(new.value, old.value))
    rule = RULE if hardly and change.comparison.production else ""
    yield ChangeLine(f"scales on {known.metric} at {texts[0]} -> {texts[1]}", rule)


def cooldown(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield the seconds between two steps; three times as many, a variant hardly grows."""
    target = _target((change.change.after or change.change.before)["Properties"], None)
    name = change.path.rpartition(".")[2]
    text = f"{name} of {target.metric if target else 'a policy'}: {change.arrow} s"
    sides = (COOLDOWN if side is None else int(side) for side in (change.after, change.before))
    seconds = [max(side, SHORTEST) for side in sides]
    grows = name == "ScaleOutCooldown" and change.change.before and falls(*seconds)
    yield ChangeLine(text, RULE if grows and change.comparison.production else "")


class _Target(NamedTuple):
    """The metric that a policy tracks, and the value that it holds it at."""

    metric: str
    value: float
    text: str


def _target(properties: dict[str, Any] | None, endpoint: DeclaredEndpoint | None) -> _Target | None:
    settings = (properties or {}).get("TargetTrackingScalingPolicyConfiguration")
    if not settings:
        return None
    predefined = settings.get("PredefinedMetricSpecification", {}).get("PredefinedMetricType")
    custom = settings.get("CustomizedMetricSpecification", {})
    expressions = [each["Expression"] for each in custom.get("Metrics", ()) if "Expression" in each]
    named = predefined or custom.get("MetricName") or "; ".join(expressions)
    metric = str(named).removeprefix("SageMakerVariant").removeprefix("SageMakerInferenceComponent")
    value = float(settings.get("TargetValue", 0))
    return _Target(metric, *in_units(metric, value, endpoint, variant_of(custom)))


def _unit(change: PropertyChange) -> str:
    """Return what a scalable target counts."""
    target = next(side["Properties"].get("ResourceId") for side in change.sides if side)
    return "copies" if str(target).startswith("inference-component/") else "instances"


def _schedule(action: dict[str, Any] | None, unit: str) -> str:
    if action is None:
        return "none"
    new = action.get("ScalableTargetAction", {})
    least, most = (new.get(item, "as before") for item in ("MinCapacity", "MaxCapacity"))
    return f"{action['Schedule']} {action.get('Timezone', 'UTC')}, {least} to {most} {unit}"


def _text(limits: WeeklyLimits) -> str:
    """Return the limits, and the means where schedules make them others."""
    text = f"{limits.minimum} to {limits.maximum}"
    if limits.mean_minimum == limits.minimum and limits.mean_maximum == limits.maximum:
        return text
    return f"{text} (on average {limits.mean_minimum:.3g} to {limits.mean_maximum:.3g})"
