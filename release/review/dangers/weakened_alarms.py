"""Alarms that go off later, or no more."""

from collections.abc import Iterator
from typing import Any

import platform_facts
from release.review.comparison import Comparison
from release.review.dangers.found import Found
from release.review.endpoints import DeclaredEndpoint

Alarm = dict[str, Any]

_WATCHED = ("Namespace", "MetricName", "Dimensions", "Statistic", "ExtendedStatistic", "Period",
            "Unit", "Metrics", "ThresholdMetricId", "AlarmRule")  # fmt: skip


def weakened_alarms(comparison: Comparison) -> Iterator[Found]:
    """An alarm that stays needs more before it goes off, or watches something else.

    What the properties mean: API reference, PutMetricAlarm. Metrics of GPUs and CPUs run to 100 for
    each of an instance (developer guide, monitoring-cloudwatch), so that their thresholds are
    compared for one.
    """
    for change in comparison.changes:
        if change.type not in ("AWS::CloudWatch::Alarm", "AWS::CloudWatch::CompositeAlarm"):
            continue
        pair = comparison.endpoints.get(change.stack)
        if not (change.before and change.after) or (pair and (pair.before, pair.after).count(None)):
            continue
        old, new = (it["Properties"] for it in (change.before, change.after))
        sides = (pair.before, pair.after) if pair else (None, None)
        weaker = list(_weaker(old, new, sides))
        if pair and pair.before and pair.after and pair.before.name == pair.after.name:
            weaker += [f"{it} is another" for it in _WATCHED if old.get(it) != new.get(it)]
        if weaker:
            name = comparison.endpoint_in(change.stack)
            yield Found(
                f"{name}.{change.path}",
                f"the alarm {change.path} of {name} is weaker: {', '.join(weaker)}",
                group=name,
                heading=f"{{count}} alarms of {name} are weaker",
            )


def _weaker(
    old: Alarm, new: Alarm, sides: tuple[DeclaredEndpoint | None, DeclaredEndpoint | None]
) -> Iterator[str]:
    was, now = (_threshold(it, side) for it, side in zip((old, new), sides, strict=True))
    if old.get("ComparisonOperator") != new.get("ComparisonOperator"):
        yield f"{old.get('ComparisonOperator')} -> {new.get('ComparisonOperator')}"
    elif was is not None and now is not None:
        less = str(new.get("ComparisonOperator")).startswith("Less")
        if now < was if less else now > was:
            yield f"threshold {old['Threshold']:,.10g} -> {new['Threshold']:,.10g}"
    (bad, of), (more, out_of) = _periods(old), _periods(new)
    if more > bad or out_of < of:
        yield f"{bad} bad periods of {of} -> {more} of {out_of}"
    missing = [it.get("TreatMissingData", "missing") for it in (old, new)]
    if missing[0] != missing[1]:
        yield f"missing data is {missing[0]} -> {missing[1]}"


def _periods(alarm: Alarm) -> tuple[int, int]:
    of = int(alarm.get("EvaluationPeriods", 1))
    return int(alarm.get("DatapointsToAlarm", of)), of


def _threshold(alarm: Alarm, endpoint: DeclaredEndpoint | None) -> float | None:
    """Return the threshold for one GPU, or vCPU, where the metric adds those of an instance up."""
    if "Threshold" not in alarm:
        return None
    return float(alarm["Threshold"]) / _added_up(alarm, endpoint)


def _added_up(alarm: Alarm, endpoint: DeclaredEndpoint | None) -> int:
    names = {it["Name"]: it["Value"] for it in alarm.get("Dimensions", ())}
    variant = endpoint.variants.get(str(names.get("VariantName"))) if endpoint else None
    metric = str(alarm.get("MetricName"))
    if variant is None or not metric.startswith(("GPU", "CPU")):
        return 1
    try:
        instance = platform_facts.instance_type(variant.instance_type)
    except platform_facts.UnknownFact:  # of a commit that knew it
        return 1
    return (instance.gpu_count if metric.startswith("GPU") else instance.vcpus) or 1
