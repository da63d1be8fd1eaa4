"""Describers of alarms. Source of the properties: CloudWatch API reference, PutMetricAlarm."""

from collections.abc import Iterator
from math import ceil
from typing import Any

import platform_facts
from review.describers.generic import is_recreated
from review.describers.notifications import describe_alarm_actions
from review.endpoints import TemplateEndpoint
from review.property_change import ChangeLine, PropertyChange
from review.values import format_change, format_value

WEAKENED_ALARMS, LOST_ALARMS = "weakened_alarms", "lost_alarms"

METRIC_PROPERTIES = (
    *("Namespace", "MetricName", "Dimensions", "Unit", "Metrics", "ThresholdMetricId"),
    "AlarmRule",
)
"""Properties that select the metric of an alarm."""

ALARM_PROPERTIES = (
    *METRIC_PROPERTIES,
    *("ComparisonOperator", "DatapointsToAlarm", "EvaluationPeriods", "ExtendedStatistic"),
    *("Period", "Statistic", "Threshold", "TreatMissingData", "ActionsEnabled", "AlarmActions"),
)
"""Properties that `describe_alarm` describes."""

STATISTICS = {"Minimum": 0.0, "Average": 50.0, "Maximum": 100.0}
"""Statistic -> percentile, to compare them; an average is treated as the median."""

Alarm = dict[str, Any]
Endpoints = tuple[TemplateEndpoint | None, TemplateEndpoint | None]


def describe_alarm(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield that an alarm is deleted, stricter or weaker, or has another metric or action."""
    old, new = change.before, change.after
    old_endpoint, new_endpoint = change.endpoints
    if old and new:
        yield from describe_alarm_actions(change)
    if (old_endpoint is None) != (new_endpoint is None):
        return
    if (
        old
        and not new
        and not is_recreated(change, ALARM_PROPERTIES)
        and not _belongs_to_removed_variant(change)
    ):
        yield ChangeLine("the alarm is deleted", LOST_ALARMS)
    if not old or not new:
        return
    for text, is_stricter in _condition_changes(old, new, change.endpoints):
        stricter = ChangeLine(f"stricter: {text}")
        weaker = ChangeLine(f"the alarm is weaker: {text}", WEAKENED_ALARMS)
        yield stricter if is_stricter else weaker
    if old_endpoint and new_endpoint and old_endpoint.name != new_endpoint.name:
        return
    for name in METRIC_PROPERTIES:
        if old.get(name) != new.get(name):
            values = format_change(format_value(old.get(name)), format_value(new.get(name)))
            yield ChangeLine(f"the alarm has another metric: {name}: {values}", WEAKENED_ALARMS)


def _belongs_to_removed_variant(change: PropertyChange) -> bool:
    """Return whether an alarm's path contains the name of a removed variant."""
    before, after = change.endpoints
    if not (before and after):
        return False
    name = f"-{change.resource_change.path.rpartition('/')[2]}-"
    return any(f"-{variant}-" in name for variant in before.variants.keys() - after.variants.keys())


def _condition_changes(old: Alarm, new: Alarm, endpoints: Endpoints) -> Iterator[tuple[str, bool]]:
    """Yield each change of an alarm's condition, and whether that makes the alarm stricter."""
    old_operator, new_operator = (str(side.get("ComparisonOperator")) for side in (old, new))
    is_lower_limit = new_operator.startswith("Less")
    old_threshold, new_threshold = map(_threshold, (old, new), endpoints)
    if old_operator != new_operator:
        or_equal = old_operator.replace("Threshold", "OrEqualToThreshold")
        yield f"{old_operator} -> {new_operator}", new_operator == or_equal
    elif old_threshold and new_threshold:
        if old_threshold[0] != new_threshold[0]:
            is_stricter = (new_threshold[0] > old_threshold[0]) == is_lower_limit
            yield f"threshold {old_threshold[1]} -> {new_threshold[1]}", is_stricter
    elif old_threshold or new_threshold:
        yield "threshold added or removed", False
    statistics = [side.get("ExtendedStatistic", side.get("Statistic")) for side in (old, new)]
    if statistics[0] != statistics[1]:
        old_rank, new_rank = (_percentile(str(statistic)) for statistic in statistics)
        yield (
            f"{statistics[0]} -> {statistics[1]}",
            old_rank is not None
            and new_rank is not None
            and (old_rank < new_rank) != is_lower_limit,
        )
    yield from _period_changes(old, new)
    missing = [side.get("TreatMissingData", "missing") for side in (old, new)]
    if missing[0] != missing[1]:
        yield f"treatment of missing data: {missing[0]} -> {missing[1]}", missing[1] == "breaching"


def _percentile(statistic: str) -> float | None:
    """Return the percentile of a statistic, None for a statistic without one, such as a sum."""
    if statistic.startswith("p") and statistic[1:].replace(".", "", 1).isdigit():
        return float(statistic[1:])
    return STATISTICS.get(statistic)


def _period_changes(old: Alarm, new: Alarm) -> Iterator[tuple[str, bool]]:
    """Yield changes of the breaching periods ("M out of N") and of their length.

    The new condition is stricter if every alarm by the old condition is also one by the new
    condition. If the old window of N periods is split into windows of the new length, at least one
    of these has M / (number of windows) breaching periods. A longer period makes sums larger, and
    delays other statistics.
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
    return to_stage_units(metric, value, endpoint, variant_name(alarm))


def variant_name(metric: dict[str, Any]) -> str:
    """Return the name of the variant in a metric's dimensions."""
    dimensions = {item.get("Name"): item.get("Value") for item in metric.get("Dimensions", ())}
    return str(dimensions.get("VariantName"))


def to_stage_units(
    metric: str, value: float, endpoint: TemplateEndpoint | None, variant: str
) -> tuple[float, str]:
    """Return a metric's value in the units of a stage file, as a number and as text."""
    if metric.endswith(("Latency", "Time")):
        return value / 1000, f"{value / 1000:,.10g} ms"
    stack_variant = endpoint.variants.get(variant) if endpoint else None
    processor = next((name for name in ("GPU", "CPU") if metric.startswith(name)), None)
    if processor and stack_variant:
        try:
            instance = platform_facts.instance_type(stack_variant.instance_types[0])
        except platform_facts.UnknownFact:  # the type is missing in this commit's facts
            return value, f"{value:,.10g}"
        count = (instance.gpu_count if processor == "GPU" else instance.vcpus) or 1
        per_processor = f" of each of {count} {processor}s" if count > 1 else ""
        return value / count, f"{value / count:,.10g} %{per_processor}"
    return value, f"{value:,.10g}"
