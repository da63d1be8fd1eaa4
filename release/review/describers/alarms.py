"""What becomes of an alarm, and of who is notified.

What the properties mean: CloudWatch API reference, PutMetricAlarm.
"""

from collections.abc import Iterator
from math import ceil
from typing import Any, Literal

import platform_facts
from release.review.endpoints import DeclaredEndpoint
from release.review.property_change import ChangeLine, PropertyChange
from release.review.values import text_of

WEAKER, UNHEARD = "weakened_alarms", "unheard_alarms"

IDENTITY = ("Namespace", "MetricName", "Dimensions", "Unit", "Metrics", "ThresholdMetricId",
            "AlarmRule")  # fmt: skip
"""Properties that decide what an alarm watches."""

JUDGED = (*IDENTITY, "ComparisonOperator", "DatapointsToAlarm", "EvaluationPeriods",
          "Period", "Statistic", "Threshold", "TreatMissingData",
          "ActionsEnabled", "AlarmActions")  # fmt: skip
"""Properties that `alarm` describes together."""

STATISTICS = {"Minimum": 0.0, "Average": 50.0, "Maximum": 100.0}
"""Which percentile each is, or may stand for: an average is no percentile, but in the middle."""

Direction = Literal["stricter", "weaker", "other"]


def alarm(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield each way in which an alarm that stays goes off later, or earlier, or tells fewer."""
    old, new = change.before, change.after
    if not old or not new:
        return
    yield from _notified(change)
    pair = change.pair
    if pair and not (pair.before and pair.after):
        return
    sides = (pair.before, pair.after) if pair else (None, None)
    changes = [*_level(old, new, sides), *_periods(old, new), *_period(old, new), *_data(old, new)]
    if pair is None or (pair.before and pair.after and pair.before.name == pair.after.name):
        changes += [
            (f"{item} is another", "other") for item in IDENTITY if old.get(item) != new.get(item)
        ]
    for text, direction in changes:
        yield (
            ChangeLine(f"stricter: {text}")
            if direction == "stricter"
            else ChangeLine(f"the alarm is weaker: {text}", WEAKER)
        )


def subscription(change: PropertyChange) -> Iterator[ChangeLine]:
    """Yield that somebody no longer hears a topic, or only some of its messages."""
    old, new = change.before, change.after
    if old is None:
        return
    who = f"{old.get('Protocol')} {_end(old.get('Endpoint'))}"
    topic = _end(old["TopicArn"])
    if new is None or any(old.get(item) != new.get(item) for item in SUBSCRIBED):
        yield ChangeLine(f"{who} is no longer notified of {topic}", UNHEARD)
    elif old.get("FilterPolicy") != new.get("FilterPolicy"):
        yield ChangeLine(f"{who} is notified of other messages of {topic}: a filter", UNHEARD)


SUBSCRIBED = ("Endpoint", "Protocol", "TopicArn")


def _notified(change: PropertyChange) -> Iterator[ChangeLine]:
    """`ActionsEnabled` is true unless it is set."""
    old, new = change.before, change.after
    if old.get("ActionsEnabled", True) and not new.get("ActionsEnabled", True):
        yield ChangeLine("the alarm notifies nobody: its actions are off", UNHEARD)
        return
    actions, kept = old.get("AlarmActions", []), new.get("AlarmActions", [])
    for action in actions:
        if action not in kept:
            yield ChangeLine(f"the alarm no longer notifies {_end(action)}", UNHEARD)
    for action in kept:
        if action not in actions:
            yield ChangeLine(f"the alarm now notifies {_end(action)}")


def _level(
    old: dict[str, Any],
    new: dict[str, Any],
    sides: tuple[DeclaredEndpoint | None, DeclaredEndpoint | None],
) -> Iterator[tuple[str, Direction]]:
    """Compare what the metric is held against, in the units of a stage's file."""
    operators = [str(item.get("ComparisonOperator")) for item in (old, new)]
    less = operators[1].startswith("Less")
    levels = [_threshold(value, side) for value, side in zip((old, new), sides, strict=True)]
    if operators[0] != operators[1]:
        closer = operators[1] == operators[0].replace("Threshold", "OrEqualToThreshold")
        yield f"{operators[0]} -> {operators[1]}", "stricter" if closer else "weaker"
    elif (was := levels[0]) and (now := levels[1]) and was[0] != now[0]:
        weaker = (now[0] < was[0]) == less
        yield f"threshold {was[1]} -> {now[1]}", "weaker" if weaker else "stricter"
    elif None in levels and levels[0] != levels[1]:
        yield "another threshold", "other"
    statistics = [entry.get("Statistic", entry.get("ExtendedStatistic")) for entry in (old, new)]
    if statistics[0] != statistics[1]:
        ranks = [_rank(one) for one in statistics]
        stricter = min(ranks) >= 0 and (ranks[0] < ranks[1]) != less
        yield f"{statistics[0]} -> {statistics[1]}", "stricter" if stricter else "weaker"


def _rank(statistic: Any) -> float:
    """Return which share of values a statistic is above, -1 for one that is not of this order."""
    text = str(statistic)
    if text in STATISTICS:
        return STATISTICS[text]
    is_percentile = text.startswith("p") and text[1:].replace(".", "", 1).isdigit()
    return float(text[1:]) if is_percentile else -1


def _periods(old: dict[str, Any], new: dict[str, Any]) -> Iterator[tuple[str, Direction]]:
    """Compare how many bad periods of how many are needed.

    Of `bad` in `of` periods, `more` lie in some `out_of` whenever each of the parts that `of` is
    cut into has fewer than that at most (the pigeonhole principle).
    """
    (bad, of), (more, out_of) = (
        (int(side.get("DatapointsToAlarm", side.get("EvaluationPeriods", 1))),
         int(side.get("EvaluationPeriods", 1)))
        for side in (old, new)
    )  # fmt: skip
    if (bad, of) != (more, out_of):
        at_once = bad if out_of >= of else ceil(bad / ceil(of / out_of))
        text = f"{bad} bad periods of {of} -> {more} of {out_of}"
        yield text, "stricter" if more <= at_once else "weaker"


def _period(old: dict[str, Any], new: dict[str, Any]) -> Iterator[tuple[str, Direction]]:
    """Compare the seconds of a period: sums grow with it, others are late with it."""
    was, now = old.get("Period"), new.get("Period")
    if was != now:
        adds_up = new.get("Statistic") in ("Sum", "SampleCount")
        known = isinstance(was, int) and isinstance(now, int)
        stricter = known and not adds_up and int(now or 0) < int(was or 0)
        yield f"period {was} s -> {now} s", "stricter" if stricter else "weaker"


def _data(old: dict[str, Any], new: dict[str, Any]) -> Iterator[tuple[str, Direction]]:
    was, now = (side.get("TreatMissingData", "missing") for side in (old, new))
    if was != now:
        direction: Direction = "stricter" if now == "breaching" else "weaker"
        yield f"missing data is {was} -> {now}", direction


def _threshold(
    alarm: dict[str, Any], endpoint: DeclaredEndpoint | None
) -> tuple[float, str] | None:
    """Return a threshold to compare and to show, None where an alarm has none.

    Metrics of GPUs and CPUs run to 100 for each of an instance, latencies are in microseconds
    (SageMaker developer guide, monitoring-cloudwatch); a stage has percent of each, milliseconds.
    """
    if "Threshold" not in alarm:
        return None
    dimensions = {item.get("Name"): item.get("Value") for item in alarm.get("Dimensions", ())}
    metric, value = str(alarm.get("MetricName")), float(alarm["Threshold"])
    return in_units(metric, value, endpoint, str(dimensions.get("VariantName")))


def in_units(
    metric: str, value: float, endpoint: DeclaredEndpoint | None, variant: str
) -> tuple[float, str]:
    """Return a value of a metric in the units of a stage's file, and as text."""
    if metric.endswith(("Latency", "Time")):
        return value / 1000, f"{value / 1000:,.10g} ms"
    declared = endpoint.variants.get(variant) if endpoint else None
    kind = next((item for item in ("GPU", "CPU") if metric.startswith(item)), None)
    if kind and declared:
        try:
            instance = platform_facts.instance_type(declared.instance_type)
        except platform_facts.UnknownFact:  # of a commit that knew it
            return value, f"{value:,.10g}"
        count = (instance.gpu_count if kind == "GPU" else instance.vcpus) or 1
        each = f" of each of {count} {kind}s" if count > 1 else ""
        return value / count, f"{value / count:,.10g} %{each}"
    return value, f"{value:,.10g}"


def _end(value: Any) -> str:
    """Return an ARN by its end, a resource by its logical id."""
    match value:
        case {"Ref": str(name)}:
            return name
    return text_of(value, {}).rpartition(":")[2]
