"""Describers of alarms. Source of the properties: CloudWatch API reference, PutMetricAlarm."""

from collections.abc import Iterator
from math import ceil
from typing import Any

import platform_facts
from release.review.describers.generic import is_recreated
from release.review.describers.notifications import alarm_actions
from release.review.endpoints import TemplateEndpoint
from release.review.property_change import ChangeLine, PropertyChange
from release.review.values import format_change, format_value

WEAKER, LOST = "weakened_alarms", "lost_alarms"

IDENTITY = ("Namespace", "MetricName", "Dimensions", "Unit", "Metrics", "ThresholdMetricId",
            "AlarmRule")  # fmt: skip
"""Properties that select the metric of an alarm."""

ALARM_PROPERTIES = (*IDENTITY, "ComparisonOperator", "DatapointsToAlarm", "EvaluationPeriods",
          "ExtendedStatistic", "Period", "Statistic", "Threshold", "TreatMissingData",
          "ActionsEnabled", "AlarmActions")  # fmt: skip
"""Properties that `alarm` describes."""

STATISTICS = {"Minimum": 0.0, "Average": 50.0, "Maximum": 100.0}
"""Statistic -> percentile, to compare them; an average is treated as the median."""

Alarm = dict[str, Any]
Endpoints = tuple[TemplateEndpoint | None, TemplateEndpoint | None]


def alarm(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield that an alarm is deleted, stricter or weaker, or has another metric or action."""
    old, new, pair = change.before, change.after, change.pair
    if old and new:
        yield from alarm_actions(change)
    if pair and not (pair.before and pair.after):
        return
    if (
        old
        and not new
        and not is_recreated(change, ALARM_PROPERTIES)
        and not _belongs_to_removed_variant(change)
    ):
        yield ChangeLine("the alarm is deleted", LOST)
    if not old or not new:
        return
    endpoints = (pair.before, pair.after) if pair else (None, None)
    for text, is_stricter in _changes(old, new, endpoints):
        line = ChangeLine(f"stricter: {text}")
        yield line if is_stricter else ChangeLine(f"the alarm is weaker: {text}", WEAKER)
    if pair and pair.before and pair.after and pair.before.name != pair.after.name:
        return
    for name in IDENTITY:
        if old.get(name) != new.get(name):
            sides = format_change(format_value(old.get(name)), format_value(new.get(name)))
            yield ChangeLine(f"the alarm has another metric: {name}: {sides}", WEAKER)


def _belongs_to_removed_variant(change: PropertyChange) -> bool:
    """Return whether an alarm's path contains the name of a removed variant."""
    if not (change.pair and change.pair.before and change.pair.after):
        return False
    removed = change.pair.before.variants.keys() - change.pair.after.variants.keys()
    name = f"-{change.change.path.rpartition('/')[2]}-"
    return any(f"-{variant}-" in name for variant in removed)


def _changes(old: Alarm, new: Alarm, endpoints: Endpoints) -> Iterator[tuple[str, bool]]:
    """Yield each change of an alarm's condition, and whether that makes the alarm stricter."""
    operators = [str(side.get("ComparisonOperator")) for side in (old, new)]
    is_low = operators[1].startswith("Less")
    levels = [_threshold(*side) for side in zip((old, new), endpoints, strict=True)]
    if operators[0] != operators[1]:
        or_equal = operators[0].replace("Threshold", "OrEqualToThreshold")
        yield f"{operators[0]} -> {operators[1]}", operators[1] == or_equal
    elif (before := levels[0]) and (after := levels[1]) and before[0] != after[0]:
        yield f"threshold {before[1]} -> {after[1]}", (after[0] > before[0]) == is_low
    elif None in levels and levels[0] != levels[1]:
        yield "threshold added or removed", False
    statistics = [side.get("ExtendedStatistic", side.get("Statistic")) for side in (old, new)]
    if statistics[0] != statistics[1]:
        old_rank, new_rank = (_percentile(str(statistic)) for statistic in statistics)
        yield (
            f"{statistics[0]} -> {statistics[1]}",
            old_rank is not None and new_rank is not None and (old_rank < new_rank) != is_low,
        )
    yield from _periods(old, new)
    missing = [side.get("TreatMissingData", "missing") for side in (old, new)]
    if missing[0] != missing[1]:
        yield f"treatment of missing data: {missing[0]} -> {missing[1]}", missing[1] == "breaching"


def _percentile(statistic: str) -> float | None:
    """Return the percentile of a statistic, None for one without, such as a sum."""
    if statistic.startswith("p") and statistic[1:].replace(".", "", 1).isdigit():
        return float(statistic[1:])
    return STATISTICS.get(statistic)


def _periods(old: Alarm, new: Alarm) -> Iterator[tuple[str, bool]]:
    """Yield changes of the breaching periods ("M out of N") and of their length.

    The new condition is stricter if the old one implies it. If the old window of N periods is
    split into windows of the new length, at least one contains M / (number of windows) breaching
    periods. A longer period makes sums larger, and delays other statistics.
    """
    windows = [int(side.get("EvaluationPeriods", 1)) for side in (old, new)]
    breaching = [int(side.get("DatapointsToAlarm", window))
                 for side, window in zip((old, new), windows, strict=True)]  # fmt: skip
    if breaching[0] != breaching[1] or windows[0] != windows[1]:
        implied = ceil(breaching[0] / max(ceil(windows[0] / windows[1]), 1))
        text = f"{breaching[0]} of {windows[0]} breaching periods -> {breaching[1]} of {windows[1]}"
        yield text, breaching[1] <= implied
    before, after = old.get("Period"), new.get("Period")
    if before != after:
        is_sum = new.get("Statistic") in ("Sum", "SampleCount")
        shorter = isinstance(before, int) and isinstance(after, int) and after < before
        yield f"period {before} s -> {after} s", shorter and not is_sum


def _threshold(alarm: Alarm, endpoint: TemplateEndpoint | None) -> tuple[float, str] | None:
    """Return an alarm's threshold in the units of a stage file, None without a threshold.

    Utilisation metrics are sums over the GPUs or CPUs of an instance, and latencies are in
    microseconds (SageMaker developer guide, monitoring-cloudwatch); stage files have percent and
    milliseconds.
    """
    if "Threshold" not in alarm:
        return None
    metric, value = str(alarm.get("MetricName")), float(alarm["Threshold"])
    return in_units(metric, value, endpoint, variant_of(alarm))


def variant_of(metric: dict[str, Any]) -> str:
    """Return the variant in a metric's dimensions."""
    dimensions = {item.get("Name"): item.get("Value") for item in metric.get("Dimensions", ())}
    return str(dimensions.get("VariantName"))


def in_units(
    metric: str, value: float, endpoint: TemplateEndpoint | None, variant: str
) -> tuple[float, str]:
    """Return a metric's value in the units of a stage file, as a number and as text."""
    if metric.endswith(("Latency", "Time")):
        return value / 1000, f"{value / 1000:,.10g} ms"
    declared = endpoint.variants.get(variant) if endpoint else None
    kind = next((kind for kind in ("GPU", "CPU") if metric.startswith(kind)), None)
    if kind and declared:
        try:
            instance = platform_facts.instance_type(declared.instance_types[0])
        except platform_facts.UnknownFact:  # the type is missing in this commit's facts
            return value, f"{value:,.10g}"
        count = (instance.gpu_count if kind == "GPU" else instance.vcpus) or 1
        units = f" of each of {count} {kind}s" if count > 1 else ""
        return value / count, f"{value / count:,.10g} %{units}"
    return value, f"{value:,.10g}"
