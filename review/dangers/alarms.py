"""Dangers of alarms and their notifications.

Source of the properties: CloudWatch API reference, PutMetricAlarm.
"""

from collections.abc import Iterator
from math import inf
from typing import Any

import platform_facts
from plan.document import PlannedEndpoint
from platform_facts.rules.monitoring import MEASURES
from review.comparison import Comparison, EndpointPair
from review.dangers.danger import Danger, digest
from review.stack_differences import ResourceChange
from review.template_changes import stack_resources
from review.values import format_change, format_value

DIRECTED = {
    "ActionsEnabled", "AlarmActions", "AlarmDescription", "AlarmName", "InsufficientDataActions",
    "OKActions", "Tags", "Threshold",
}  # fmt: skip
"""Properties of which only some changes weaken an alarm. No stage sets the others: each change of
them is also a difference from the plan."""

PERCENTAGE_METRICS = ("Utilization", "UtilizationNormalized")
MAXIMA = {"_rate": (1, "a share of 0 to 1"), "_percent": (100, "percent")}
"""Part of a threshold's name in `MEASURES` -> the greatest value of its metric, in what."""

SUBSCRIPTION_PROPERTIES = ("Endpoint", "Protocol", "TopicArn", "FilterPolicy")

Alarm = dict[str, Any]


def alarm_dangers(comparison: Comparison) -> Iterator[Danger]:
    """Yield alarms and budgets that are deleted, go off later, or notify nobody; subscriptions."""
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
        elif change.type == "AWS::Budgets::Budget" and not change.after:
            limit = format_value(old.get("Budget", {}).get("BudgetLimit", {}).get("Amount"))
            text = f"the budget of {limit} USD is deleted: nobody is notified of the costs"
            yield _danger(change, "lost_alarms", text)
        elif change.type == "AWS::Budgets::Budget":
            yield from _changed_budget(change, old, new)
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
    is_renamed = (
        pair.before and pair.after and pair.before.settings.name != pair.after.settings.name
    )
    weaker = [
        f"{name}: {format_change(format_value(old.get(name)), format_value(new.get(name)))}"
        for name in sorted((old.keys() | new.keys()) - DIRECTED)
        if old.get(name) != new.get(name) and not is_renamed
    ]
    before, after = _threshold(old, pair.before), _threshold(new, pair.after)
    is_lower_limit = str(new.get("ComparisonOperator")).startswith("Less")
    if before and after and before[0] != after[0] and (after[0] < before[0]) == is_lower_limit:
        text = f"threshold {before[1]} -> {after[1]}"
        maximum, unit = _maximum(new)
        is_inclusive = "OrEqualTo" in str(new.get("ComparisonOperator"))
        distance = after[0] if is_lower_limit else maximum - after[0]
        if distance < 0 or (distance == 0 and not is_inclusive):
            text += f": the metric is {unit}, so that the alarm can never go off"
        weaker.append(text)
    for text in weaker:
        yield _danger(change, "weakened_alarms", f"the alarm is weaker: {text}")
    if old.get("ActionsEnabled", True) and not new.get("ActionsEnabled", True):
        text = "the alarm sends no notifications: its actions are disabled"
        yield _danger(change, "silenced_alarms", text)
        return
    actions = new.get("AlarmActions", [])
    for action in (action for action in old.get("AlarmActions", []) if action not in actions):
        yield _danger(change, "silenced_alarms", f"the alarm no longer notifies {_name(action)}")


def _maximum(alarm: Alarm) -> tuple[float, str]:
    """Return the greatest value of an alarm's metric, as a stage's file has it, and its unit."""
    names = [
        name
        for name, measure in MEASURES.items()
        if (measure.metric, measure.statistic) == (alarm.get("MetricName"), alarm.get("Statistic"))
    ]
    names += ["_percent"] if str(alarm.get("MetricName")).endswith(PERCENTAGE_METRICS) else []
    bounds = (bound for part, bound in MAXIMA.items() for name in names if part in name)
    return next(bounds, (inf, "0 or more"))


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


def _changed_budget(change: ResourceChange, old: Alarm, new: Alarm) -> Iterator[Danger]:
    """Yield thresholds of a budget that rise, and people whom it no longer notifies.

    Its limit follows from the stage (review/dangers/stages.py, over_budget).
    """
    before, after = (
        {
            item["Notification"].get("NotificationType"): item
            for item in side.get("NotificationsWithSubscribers", ())
        }
        for side in (old, new)
    )
    for kind, item in before.items():
        remaining = after.get(kind, {"Notification": {}, "Subscribers": []})
        people, others = (
            [subscriber.get("Address") for subscriber in side.get("Subscribers", ())]
            for side in (item, remaining)
        )
        for name in (name for name in people if name not in others):
            text = f"the budget no longer notifies {format_value(name)} ({kind})"
            yield _danger(change, "silenced_alarms", text)
        values = [side["Notification"].get("Threshold") for side in (item, remaining)]
        if all(isinstance(value, int | float) for value in values) and values[1] > values[0]:
            unit = ""
            if remaining["Notification"].get("ThresholdType") != "ABSOLUTE_VALUE":
                limit = new.get("Budget", {}).get("BudgetLimit", {}).get("Amount")
                is_number = isinstance(limit, int | float)
                amount = f", {limit * values[1] / 100:,.0f} USD" if is_number else ""
                unit = f" % of its limit{amount}"
            text = f"{format_change(*map(format_value, values))}{unit}"
            yield _danger(change, "weakened_alarms", f"the budget notifies later: {text} ({kind})")


def _changed_subscription(
    comparison: Comparison, change: ResourceChange, old: Alarm, new: Alarm
) -> Iterator[Danger]:
    subscriber = f"{old.get('Protocol')} {_name(old.get('Endpoint'))}"
    if change.after and change.impact == "WILL_REPLACE" and change.before == change.after:
        text = f"{subscriber} is not notified until it confirms its subscription to the new topic"
        yield _danger(change, "silenced_alarms", text)
    if any(old.get(name) != new.get(name) for name in SUBSCRIPTION_PROPERTIES):
        resources, _ = stack_resources(comparison, change.stack)
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
