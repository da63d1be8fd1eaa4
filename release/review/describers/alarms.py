"""Describe changes of alarms.

Source of the properties' meaning: CloudWatch API reference, PutMetricAlarm.
"""

from collections.abc import Iterator
from math import ceil
from typing import Any

import platform_facts
from release.review.describers.generic import is_moved
from release.review.describers.notifications import notified
from release.review.endpoints import DeclaredEndpoint
from release.review.property_change import ChangeLine, PropertyChange
from release.review.values import arrow, text_of

WEAKER, LOST = "weakened_alarms", "lost_alarms"

IDENTITY = ("Namespace", "MetricName", "Dimensions", "Unit", "Metrics", "ThresholdMetricId",
            "AlarmRule")  # fmt: skip
"""Properties that select the metric of an alarm."""

JUDGED = (*IDENTITY, "ComparisonOperator", "DatapointsToAlarm", "EvaluationPeriods",
          "ExtendedStatistic", "Period", "Statistic", "Threshold", "TreatMissingData",
          "ActionsEnabled", "AlarmActions")  # fmt: skip
"""Properties that `alarm` describes together."""

STATISTICS = {"Minimum": 0.0, "Average": 50.0, "Maximum": 100.0}
"""Statistic -> percentile; an average is treated as the median."""

Alarm = dict[str, Any]
Endpoints = tuple[DeclaredEndpoint | None, DeclaredEndpoint | None]


def alarm(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield that an alarm is deleted, triggers later or earlier, or notifies others."""
    old, new, pair = change.before, change.after, change.pair
    if old and new:
        yield from notified(change)
    if pair and not (pair.before and pair.after):
        return
    if old and not new and not is_moved(change, JUDGED) and not _is_of_lost_variant(change):
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
            sides = arrow(text_of(old.get(name)), text_of(new.get(name)))
            yield ChangeLine(f"the alarm watches something else: {name}: {sides}", WEAKER)


def _is_of_lost_variant(change: PropertyChange) -> bool:
    """Return whether an alarm is of a removed variant, by the variant's name in its path."""
    if not (change.pair and change.pair.before and change.pair.after):
        return False
    gone = change.pair.before.variants.keys() - change.pair.after.variants.keys()
    name = f"-{change.change.path.rpartition('/')[2]}-"
    return any(f"-{variant}-" in name for variant in gone)


def _changes(old: Alarm, new: Alarm, endpoints: Endpoints) -> Iterator[tuple[str, bool]]:
    """Yield each change of an alarm's condition, and whether it is stricter."""
    operators = [str(side.get("ComparisonOperator")) for side in (old, new)]
    is_low = operators[1].startswith("Less")
    levels = [_threshold(*side) for side in zip((old, new), endpoints, strict=True)]
    if operators[0] != operators[1]:
        or_equal = operators[0].replace("Threshold", "OrEqualToThreshold")
        yield f"{operators[0]} -> {operators[1]}", operators[1] == or_equal
    elif (was := levels[0]) and (now := levels[1]) and was[0] != now[0]:
        yield f"threshold {was[1]} -> {now[1]}", (now[0] > was[0]) == is_low
    elif None in levels and levels[0] != levels[1]:
        yield "another threshold", False
    statistics = [side.get("ExtendedStatistic", side.get("Statistic")) for side in (old, new)]
    if statistics[0] != statistics[1]:
        was_at, now_at = (_rank(str(statistic)) for statistic in statistics)
        yield (
            f"{statistics[0]} -> {statistics[1]}",
            was_at is not None and now_at is not None and (was_at < now_at) != is_low,
        )
    yield from _periods(old, new)
    missing = [side.get("TreatMissingData", "missing") for side in (old, new)]
    if missing[0] != missing[1]:
        yield f"missing data is {missing[0]} -> {missing[1]}", missing[1] == "breaching"


def _rank(statistic: str) -> float | None:
    """Return the percentile of a statistic, None for one that has none, such as a sum."""
    if statistic.startswith("p") and statistic[1:].replace(".", "", 1).isdigit():
        return float(statistic[1:])
    return STATISTICS.get(statistic)


def _periods(old: Alarm, new: Alarm) -> Iterator[tuple[str, bool]]:
    """Yield changes of the number of breaching periods ("M out of N") and of their length.

    The new condition is stricter if every `bad` breaching periods out of `of` imply `more` out of
    `out_of`: by the pigeonhole principle, one of the parts of length `out_of` has at least
    `bad / parts` of them. A longer period makes sums larger, and other statistics slower.
    """
    of, out_of = (int(side.get("EvaluationPeriods", 1)) for side in (old, new))
    bad, more = int(old.get("DatapointsToAlarm", of)), int(new.get("DatapointsToAlarm", out_of))
    if (bad, of) != (more, out_of):
        at_once = bad if out_of >= of else ceil(bad / ceil(of / out_of))
        yield f"{bad} bad periods of {of} -> {more} of {out_of}", more <= at_once
    was, now = old.get("Period"), new.get("Period")
    if was != now:
        adds_up = new.get("Statistic") in ("Sum", "SampleCount")
        shorter = isinstance(was, int) and isinstance(now, int) and now < was
        yield f"period {was} s -> {now} s", shorter and not adds_up


def _threshold(alarm: Alarm, endpoint: DeclaredEndpoint | None) -> tuple[float, str] | None:
    """Return a threshold as a number to compare and as text, None if an alarm has none.

    Utilisation metrics are sums over the GPUs or CPUs of an instance, latencies are in microseconds
    (SageMaker developer guide, monitoring-cloudwatch); stage files have percent and milliseconds.
    """
    if "Threshold" not in alarm:
        return None
    metric, value = str(alarm.get("MetricName")), float(alarm["Threshold"])
    return in_units(metric, value, endpoint, variant_of(alarm))


def variant_of(metric: dict[str, Any]) -> str:
    """Return the variant in a metric's dimensions."""
    dimensions = {each.get("Name"): each.get("Value") for each in metric.get("Dimensions", ())}
    return str(dimensions.get("VariantName"))


def in_units(
    metric: str, value: float, endpoint: DeclaredEndpoint | None, variant: str
) -> tuple[float, str]:
    """Return a metric's value in the units of a stage's file, as a number and as text."""
    if metric.endswith(("Latency", "Time")):
        return value / 1000, f"{value / 1000:,.10g} ms"
    declared = endpoint.variants.get(variant) if endpoint else None
    kind = next((kind for kind in ("GPU", "CPU") if metric.startswith(kind)), None)
    if kind and declared:
        try:
            instance = platform_facts.instance_type(declared.instance_types[0])
        except platform_facts.UnknownFact:  # a type that only the other commit knows
            return value, f"{value:,.10g}"
        count = (instance.gpu_count if kind == "GPU" else instance.vcpus) or 1
        each = f" of each of {count} {kind}s" if count > 1 else ""
        return value / count, f"{value / count:,.10g} %{each}"
    return value, f"{value:,.10g}"
