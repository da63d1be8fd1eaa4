"""Dangers of alarms and their notifications.

Source of the properties: CloudWatch API reference, PutMetricAlarm.
"""

from collections.abc import Iterator
from typing import Any

import platform_facts
from plan.document import PlannedEndpoint
from review.comparison import Comparison, EndpointPair
from review.dangers.danger import Danger, digest
from review.stack_differences import ResourceChange
from review.template_changes import stack_resources
from review.values import format_change, format_value

METRIC_PROPERTIES = ("Namespace", "MetricName", "Dimensions", "Metrics", "AlarmRule")
"""Properties that select the metric of an alarm."""

STATISTICS = ("Minimum", "p50", "Average", "p90", "p95", "p99", "Maximum")
"""Statistics in the order of their values; an average is treated like the median."""

SUBSCRIPTION_PROPERTIES = ("Endpoint", "Protocol", "TopicArn", "FilterPolicy")

Alarm = dict[str, Any]


def alarm_dangers(comparison: Comparison) -> Iterator[Danger]:
    """Yield alarms that are deleted, go off later, or notify nobody, and lost subscriptions."""
    created = [
        (change.stack, change.type, change.after.get("Properties", {}))
        for change in comparison.changes
        if not change.before
    ]
    for change in comparison.changes:
        pair = comparison.endpoints.get(change.stack, EndpointPair(None, None))
        is_removed = pair.before and not (pair.after and pair.after.settings.variants)
        if not change.before or is_removed or change.stack not in comparison.after:
            continue
        old, new = (side.get("Properties", {}) for side in (change.before, change.after))
        is_recreated = not change.after and any(
            (stack, kind) == (change.stack, change.type) and _is_same(old, properties)
            for stack, kind, properties in created
        )
        if is_recreated:
            continue
        if change.type.startswith("AWS::CloudWatch::") and change.type.endswith("Alarm"):
            if change.after:
                yield from _changed_alarm(change, old, new, pair)
            elif not _belongs_to_removed_variant(change, pair):
                yield _danger(change, "lost_alarms", "the alarm is deleted")
        elif change.type == "AWS::SNS::Subscription":
            yield from _changed_subscription(comparison, change, old, new)


def _is_same(old: Alarm, new: Alarm) -> bool:
    names = {"AlarmName", "AlarmDescription"}
    return {key: old[key] for key in old.keys() - names} == {
        key: new[key] for key in new.keys() - names
    }


def _danger(change: ResourceChange, rule: str, text: str) -> Danger:
    return Danger(
        f"{change.stack}.{change.path}.{digest(text)}",
        f"{change.type} {change.stack}/{change.path}: {text}",
        group=change.type,
        rule=rule,
    )


def _belongs_to_removed_variant(change: ResourceChange, pair: EndpointPair) -> bool:
    """Return whether an alarm's path contains the name of a removed variant."""
    if not (pair.before and pair.after):
        return False
    removed = pair.before.settings.variants.keys() - pair.after.settings.variants.keys()
    name = f"-{change.path.rpartition('/')[2]}-"
    return any(f"-{variant}-" in name for variant in removed)


def _changed_alarm(
    change: ResourceChange, old: Alarm, new: Alarm, pair: EndpointPair
) -> Iterator[Danger]:
    weaker = [*_later_conditions(old, new, pair)]
    is_renamed = (
        pair.before and pair.after and pair.before.settings.name != pair.after.settings.name
    )
    for name in () if is_renamed else METRIC_PROPERTIES:
        if old.get(name) != new.get(name):
            values = format_change(format_value(old.get(name)), format_value(new.get(name)))
            weaker.append(f"another metric: {name}: {values}")
    for text in weaker:
        yield _danger(change, "weakened_alarms", f"the alarm is weaker: {text}")
    if old.get("ActionsEnabled", True) and not new.get("ActionsEnabled", True):
        text = "the alarm sends no notifications: its actions are disabled"
        yield _danger(change, "silenced_alarms", text)
        return
    actions = new.get("AlarmActions", [])
    for action in (action for action in old.get("AlarmActions", []) if action not in actions):
        yield _danger(change, "silenced_alarms", f"the alarm no longer notifies {_name(action)}")


def _later_conditions(old: Alarm, new: Alarm, pair: EndpointPair) -> Iterator[str]:
    """Yield each change of an alarm's condition that lets it go off later, or otherwise."""
    operators = [str(side.get("ComparisonOperator")) for side in (old, new)]
    is_lower_limit = operators[1].startswith("Less")
    or_equal = operators[0].replace("Threshold", "OrEqualToThreshold")
    if operators[0] != operators[1] and operators[1] != or_equal:
        yield f"{operators[0]} -> {operators[1]}"
    before, after = _threshold(old, pair.before), _threshold(new, pair.after)
    if before is None or after is None:
        if before != after:
            yield "threshold added or removed"
    elif before[0] != after[0] and (after[0] < before[0]) == is_lower_limit:
        yield f"threshold {before[1]} -> {after[1]}"
    statistics = [str(side.get("ExtendedStatistic", side.get("Statistic"))) for side in (old, new)]
    if statistics[0] != statistics[1]:
        known = all(statistic in STATISTICS for statistic in statistics)
        ranks = [STATISTICS.index(statistic) for statistic in statistics] if known else [1, 0]
        if (ranks[1] < ranks[0]) != is_lower_limit:
            yield f"{statistics[0]} -> {statistics[1]}"
    yield from _longer_periods(old, new)
    missing = [side.get("TreatMissingData", "missing") for side in (old, new)]
    if missing[0] != missing[1] and missing[1] != "breaching":
        yield f"treatment of missing data: {missing[0]} -> {missing[1]}"


def _longer_periods(old: Alarm, new: Alarm) -> Iterator[str]:
    """Yield more breaching periods, fewer periods in which they may be, and longer periods."""
    windows = [int(side.get("EvaluationPeriods", 1)) for side in (old, new)]
    breaching = [int(side.get("DatapointsToAlarm", window))
                 for side, window in zip((old, new), windows, strict=True)]  # fmt: skip
    is_shorter_window = windows[1] < windows[0] and breaching[1] > 1
    if breaching[1] > breaching[0] or is_shorter_window:
        yield f"{breaching[0]} of {windows[0]} breaching periods -> {breaching[1]} of {windows[1]}"
    periods = [side.get("Period", 0) for side in (old, new)]
    if periods[1] > periods[0]:
        yield f"period {periods[0]} s -> {periods[1]} s"


def _threshold(alarm: Alarm, endpoint: PlannedEndpoint | None) -> tuple[float, str] | None:
    """Return an alarm's threshold in the units of a stage file, None without a threshold.

    Utilisation metrics are sums over the GPUs or CPUs of an instance, and latencies are in
    microseconds (SageMaker developer guide, monitoring-cloudwatch); stage files have percent and
    milliseconds.
    """
    if "Threshold" not in alarm:
        return None
    metric, value = str(alarm.get("MetricName")), float(alarm["Threshold"])
    if metric.endswith(("Latency", "Time")):
        return value / 1000, f"{value / 1000:,.10g} ms"
    dimensions = {item.get("Name"): item.get("Value") for item in alarm.get("Dimensions", ())}
    variants = endpoint.settings.variants if endpoint else {}
    variant = variants.get(str(dimensions.get("VariantName")))
    if variant and metric.startswith(("GPU", "CPU")):
        try:
            instance = platform_facts.instance_type(variant.instance_types[0])
        except platform_facts.UnknownFact:  # the type is missing in this commit's facts
            return value, f"{value:,.10g}"
        count = (instance.gpu_count if metric.startswith("GPU") else instance.vcpus) or 1
        per_processor = f" of each of {count} {metric[:3]}s" if count > 1 else ""
        return value / count, f"{value / count:,.10g} %{per_processor}"
    return value, f"{value:,.10g}"


def _changed_subscription(
    comparison: Comparison, change: ResourceChange, old: Alarm, new: Alarm
) -> Iterator[Danger]:
    if any(old.get(name) != new.get(name) for name in SUBSCRIPTION_PROPERTIES):
        resources, _ = stack_resources(comparison, change.stack)
        subscriber = f"{old.get('Protocol')} {_name(old.get('Endpoint'))}"
        topic = format_value(old.get("TopicArn"), resources)
        filtered = " of all messages" if new and "FilterPolicy" in new else ""
        text = f"{subscriber} is no longer notified{filtered} by {topic}"
        yield _danger(change, "silenced_alarms", text)


def _name(value: Any) -> str:
    """Return the last part of an ARN, or a resource's logical ID."""
    match value:
        case {"Ref": str(name)}:
            return name
    return format_value(value).rpartition(":")[2]
