"""How many instances there are, and what decides it."""

from collections.abc import Iterator
from typing import Any

from release.review.describers.alarms import in_units, variant_of
from release.review.describers.generic import falls
from release.review.property_change import ChangeLine, PropertyChange
from release.review.schedules import WeeklyLimits, limits

RULE = "lost_scaling"


def scalable_target(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield the limits of a variant over a week, and that it is no longer scaled.

    A variant that was scaled keeps the number that it has, whatever the load. Where schedules
    raised its minimum and none does any more, it is as low all week as it was at its lowest.
    """
    old, new = change.before, change.after
    name = str((new or old)["ResourceId"]).rpartition("/")[2]
    was, now = (limits(side) if side else None for side in (old, new))
    if was and now is None:
        pair = change.pair
        variant = pair.after.variants.get(name) if pair and pair.after else None
        if variant:
            count = f"{variant.initial} instances, before {was.minimum} to {was.maximum}"
            production = change.comparison.production
            yield ChangeLine(f"{name} is no longer scaled: {count}", RULE if production else "")
    elif was and now and was != now:
        text = f"{name} over a week: {_text(was)} -> {_text(now)} instances"
        flat = was.minimum < was.mean_minimum > now.mean_minimum == now.minimum
        low = flat or falls(was.maximum, now.maximum) or falls(was.minimum, now.minimum)
        yield ChangeLine(text, RULE if low and change.comparison.production else "")
    elif now and old is None and change.change.stack in change.comparison.before:
        yield ChangeLine(f"{name} is scaled, {_text(now)} instances over a week")


def capacity(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield a limit between schedules; without any, it is the one of the whole week."""
    if any(side.get("Properties", {}).get("ScheduledActions") for side in change.sides):
        yield ChangeLine(f"{change.name} between schedules: {change.arrow}")


def schedule(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield when a schedule acts, and on which limits, before and after."""
    texts = [_schedule(side) for side in (change.before, change.after)]
    yield ChangeLine(f"schedule {change.item}: {texts[0]} -> {texts[1]}")


def scaling_policy(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield the target of a scaling policy, in the units of a stage's file."""
    old, new = (
        _target(change, item, side) for item, side in enumerate((change.before, change.after))
    )
    if old != new and change.change.stack in change.comparison.before:
        metric = next(entry[0] for entry in (new, old) if entry)
        texts = [value[1] if value else "nothing" for value in (old, new)]
        yield ChangeLine(f"scales on {metric} at {texts[0]} -> {texts[1]}")


def _target(
    change: PropertyChange, side: int, properties: dict[str, Any] | None
) -> tuple[str, str] | None:
    """Return the metric that a policy tracks, and its target."""
    settings = (properties or {}).get("TargetTrackingScalingPolicyConfiguration")
    if not settings:
        return None
    predefined = settings.get("PredefinedMetricSpecification", {}).get("PredefinedMetricType")
    custom = settings.get("CustomizedMetricSpecification", {})
    metric = str(predefined or custom.get("MetricName", "?")).removeprefix("SageMakerVariant")
    endpoint = (change.pair.before, change.pair.after)[side] if change.pair else None
    value = float(settings.get("TargetValue", 0))
    return metric, in_units(metric, value, endpoint, variant_of(custom))[1]


def _schedule(action: dict[str, Any] | None) -> str:
    if action is None:
        return "none"
    new = action.get("ScalableTargetAction", {})
    least, most = (new.get(item, "as before") for item in ("MinCapacity", "MaxCapacity"))
    return f"{action['Schedule']} {action.get('Timezone', 'UTC')}, {least} to {most} instances"


def _text(limits: WeeklyLimits) -> str:
    """Return the limits, and the means where schedules make them others."""
    text = f"{limits.minimum} to {limits.maximum}"
    if limits.mean_minimum == limits.minimum and limits.mean_maximum == limits.maximum:
        return text
    return f"{text} (on average {limits.mean_minimum:.3g} to {limits.mean_maximum:.3g})"
