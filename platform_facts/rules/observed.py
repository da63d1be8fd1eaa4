"""Rules about alarms, notifications and data capture."""

from collections.abc import Mapping
from math import inf

from platform_facts.rules.ranges import API
from platform_facts.rules.rule import Violation, rule

MAX_ALARM_ACTIONS = 5


def thresholds(measures: Mapping[str, Mapping[str, float]]) -> list[Violation]:
    """Return unreachable thresholds, and warnings that fire after the critical alarm."""
    problems: list[Violation] = []
    for measure, levels in measures.items():
        for severity, level in levels.items():
            problems += _reachable.at("alarms", measure, severity)(measure, level)
        problems += _order.at("alarms", measure, "warning")(
            measure, levels.get("warning"), levels.get("critical")
        )
    return problems


@rule(
    "alarms",
    "the unit at the end of the metric's name: a rate is from 0 to 1, a percentage from 0 to 100",
)
def _reachable(measure: str, threshold: float) -> str | None:
    """A threshold is within the range of its metric: 0 to 1 for a rate, 0 to 100 for percent."""
    unit = measure.removesuffix("_below").rpartition("_")[2]
    most = {"rate": 1, "percent": 100}.get(unit, inf)
    if 0 <= threshold <= most:
        return None
    needed = "0 or more" if most == inf else f"0 to {most}"
    return f"{threshold:g} is out of range: write {needed}"


@rule("alarms", "our choice: a warning is useless after the critical alarm")
def _order(measure: str, warning: float | None, critical: float | None) -> str | None:
    """`warning` is below `critical`, or above it for metrics whose names end with `_below`."""
    if warning is None or critical is None:
        return None
    low_is_bad = measure.endswith("_below")
    if warning >= critical if low_is_bad else warning <= critical:
        return None
    side = "less" if low_is_bad else "more"
    return (
        f"{warning:g} is {side} than critical, {critical:g}, and would fire later: swap the values"
    )


@rule(
    "notify",
    "docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/cloudwatch_limits.html: actions per "
    "alarm; the quota cannot be changed",
)
def number_of_topics(count: int) -> str | None:
    """At most five topics; all addresses under `notify.email` share one topic, which counts too."""
    if count <= MAX_ALARM_ACTIONS:
        return None
    return (
        f"{count} topics, and an alarm notifies at most {MAX_ALARM_ACTIONS}: remove some, or "
        "subscribe their recipients to a remaining topic"
    )


@rule("data_capture.requests", f"{API}DataCaptureConfig.html, CaptureOptions: one at least")
def something_captured(requests: bool, responses: bool) -> str | None:
    """At least one of `requests` and `responses` is true."""
    if requests or responses:
        return None
    return "requests and responses are both false: set one of them to true"
