"""Rules of AWS that botocore's models do not have: those of documented.yaml, and calculated ones.

Sources of the calculated rules are API references, and those of their messages are in
tests/validation/requests.yaml; own words are marked.
"""

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jmespath
import yaml
from botocore.utils import parse_timestamp

Record = dict[str, Any]
Problems = Iterator[tuple[str, str]]

DAY = 86_400


def documented_problems(operation: str, request: Record, *, preceding: bool) -> Problems:
    """Yield message and code of the violated rules; the code is empty for that of the service.

    With `preceding`, only rules that precede the constraints of botocore's model are checked.
    """
    for rule in rules():
        applies = operation in rule["operations"] and (rule.get("precedes") or not preceding)
        if applies and _is_violated(rule, request):
            yield rule["message"].format_map(request), rule.get("code", "")
    if operation in CALCULATED and not preceding:
        yield from CALCULATED[operation](request)


@cache
def rules() -> list[Record]:
    """Return the rules of documented.yaml."""
    content = Path(__file__).with_name("documented.yaml").read_text()
    return list(yaml.safe_load(content))


def _is_violated(rule: Record, request: Record) -> bool:
    if "refused" in rule:
        return bool(jmespath.search(rule["refused"], request))
    return any(
        name in request and not re.fullmatch(pattern, request[name], re.ASCII)
        for name, pattern in rule["pattern"].items()
    )


def _metric_alarm(alarm: Record) -> Problems:
    """PutMetricAlarm: the period, and the evaluated time."""
    if "Period" in alarm:
        yield from _invalid_periods([alarm["Period"]], (10, 20, 30))
        limit = 7 * DAY if alarm["Period"] >= 3600 else DAY
        if alarm["Period"] * alarm["EvaluationPeriods"] > limit:  # own words
            yield f"EvaluationPeriods multiplied by Period cannot exceed {limit} seconds.", ""


def _metrics(query: Record) -> Problems:
    """GetMetricStatistics and GetMetricData: periods, and the number of data points."""
    metrics = [query, *(part.get("MetricStat", {}) for part in query.get("MetricDataQueries", []))]
    periods = [metric["Period"] for metric in metrics if "Period" in metric]
    yield from _invalid_periods(periods, (1, 5, 10, 20, 30))
    start, end = (parse_timestamp(query[name]) for name in ("StartTime", "EndTime"))
    if start >= end:
        message = "The parameter StartTime must be less than the parameter EndTime."
        yield message, "InvalidParameterValue"
    points = (end - start).total_seconds() // query["Period"] if query.get("Period") else 0
    if points > 1440:
        yield (
            f"You have requested up to {points:.0f} datapoints, which exceeds the limit of 1440. "
            "You may reduce the datapoints requested by increasing Period, or decreasing the time "
            "range.",
            "InvalidParameterCombination",
        )


def _invalid_periods(periods: list[int], seconds: tuple[int, ...]) -> Problems:
    for period in periods:
        if period not in seconds and period % 60:  # own words
            yield f"Invalid metric period: {period}. Valid are {seconds} and multiples of 60.", ""


def _metric_data(request: Record) -> Problems:
    """PutMetricData: one kind of values in each datum, with one count for each value."""
    for number, datum in enumerate(request.get("MetricData", []), 1):
        name = f"MetricData.member.{number}"
        kinds = [kind for kind in ("Value", "Values", "StatisticValues") if kind in datum]
        if not kinds:
            yield f"{name} needs Value, Values or StatisticValues.", ""  # own words
        if len(kinds) > 1:
            both = f"{name}.{kinds[0]} and {name}.{kinds[1]}"
            message = f"The parameters {both} are mutually exclusive and you have specified both."
            yield message, "InvalidParameterCombination"
        if "Counts" in datum and len(datum["Counts"]) != len(datum.get("Values", [])):
            both = f"{name}.Values and {name}.Counts"
            yield f"The parameters {both} must be of the same size.", "InvalidParameterValue"


def _log_events(request: Record) -> Problems:
    """PutLogEvents: "The log events in the batch must be in chronological order"."""
    times = [event["timestamp"] for event in request["logEvents"]]
    if times != sorted(times):
        yield "Log events in a single PutLogEvents request must be in chronological order.", ""
    if times and max(times) - min(times) > DAY * 1000:  # own words
        yield "The batch of log events in a single PutLogEvents request cannot span 24 hours.", ""


def _session_tags(request: Record) -> Problems:
    """AssumeRole: tags."""
    keys = [tag["Key"].lower() for tag in request.get("Tags", [])]
    if len(set(keys)) < len(keys):
        message = "Duplicate tag keys found. Please note that Tag keys are case insensitive."
        yield message, "InvalidParameterValue"
    if {key.lower() for key in request.get("TransitiveTagKeys", [])} - set(keys):
        message = "The specified transitive tag key must be included in the requested tags."
        yield message, "InvalidParameterValue"


CALCULATED: dict[str, Callable[[Record], Problems]] = {
    "cloudwatch:GetMetricData": _metrics,
    "cloudwatch:GetMetricStatistics": _metrics,
    "cloudwatch:PutMetricAlarm": _metric_alarm,
    "cloudwatch:PutMetricData": _metric_data,
    "logs:PutLogEvents": _log_events,
    "sts:AssumeRole": _session_tags,
}
"""Operation -> calculated rules."""
