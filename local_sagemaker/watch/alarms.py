"""The dashboard's alarms, and the events of their state changes."""

import json
from typing import Any

from local_sagemaker.dashboard_events import DashboardEvent, EventKind, OnEvent

Record = dict[str, Any]

_COMPARISON_SIGNS = {
    "GreaterThanOrEqualToThreshold": "≥",
    "GreaterThanThreshold": ">",
    "LessThanThreshold": "<",
    "LessThanOrEqualToThreshold": "≤",
}


class Alarms:
    """The metric alarms of CloudWatch. `cloudwatch` is the boto3 client.

    `on_event` is called for each alarm whose state differs between two calls of `read`.
    """

    def __init__(self, cloudwatch: Any, on_event: OnEvent) -> None:
        self._cloudwatch, self._on_event = cloudwatch, on_event
        self._states: dict[str, str] = {}

    def read(self) -> list[Record]:
        """Return the alarms, sorted by name. Raise botocore's errors."""
        pages = self._cloudwatch.get_paginator("describe_alarms").paginate()
        records = {alarm["AlarmName"]: alarm for page in pages for alarm in page["MetricAlarms"]}
        alarms = [_alarm(records[name]) for name in sorted(records)]
        for alarm in alarms:
            old_state = self._states.get(alarm["name"])
            if old_state and old_state != alarm["state"]:
                self._on_event(
                    _state_change(alarm, old_state, records[alarm["name"]]["StateReason"])
                )
        self._states = {alarm["name"]: alarm["state"] for alarm in alarms}
        return alarms


def _state_change(alarm: Record, old_state: str, reason: str) -> DashboardEvent:
    kind = EventKind.ALARM if alarm["state"] == "ALARM" else EventKind.ALARM_ENDED
    message = f"{alarm['name']}: from {old_state} to {alarm['state']}. {reason}"
    return DashboardEvent(kind, message, alarm["endpoint"], alarm["variant"], time=alarm["since"])


def _alarm(record: Record) -> Record:
    metric = _metric(record)
    dimensions = {
        dimension["Name"]: dimension["Value"] for dimension in metric.get("Dimensions", [])
    }
    data = json.loads(record.get("StateReasonData") or "{}").get("recentDatapoints")
    return {
        "name": record["AlarmName"],
        "endpoint": dimensions.get("EndpointName"),
        "variant": dimensions.get("VariantName"),
        "watches": metric["MetricName"],
        "condition": _condition(record, metric),
        "value": data[-1] if data else None,
        "state": record["StateValue"],
        "since": record["StateUpdatedTimestamp"].timestamp(),
    }


def _metric(record: Record) -> Record:
    """Return an alarm's metric; for an expression, its first metric, named as the expression."""
    queries = record.get("Metrics", ())
    if not (metrics := [query["MetricStat"] for query in queries if "MetricStat" in query]):
        return record
    (expression,) = (query["Expression"] for query in queries if "Expression" in query)
    return {**metrics[0]["Metric"], "MetricName": expression, "Period": metrics[0]["Period"]}


def _condition(record: Record, metric: Record) -> str:
    statistic = record.get("ExtendedStatistic") or record.get("Statistic") or "value"
    sign = _COMPARISON_SIGNS.get(record["ComparisonOperator"], record["ComparisonOperator"])
    periods = record["EvaluationPeriods"]
    datapoints = record.get("DatapointsToAlarm") or periods
    return (
        f"{statistic} {sign} {record['Threshold']:g} in {datapoints} of {periods} periods of "
        f"{metric['Period']} s"
    )
