"""CloudWatch's alarms and how their states change, as its API tells them."""

import json
from collections.abc import Iterable
from itertools import takewhile
from typing import Any

from local_sagemaker.happenings import Happening, Kind, Tell
from local_sagemaker.watch.events import MOST
from local_sagemaker.watch.schema import Alarm

Record = dict[str, Any]

KINDS = ["MetricAlarm", "CompositeAlarm"]
MOST_CHANGES = MOST // 2
"""Of a look: those while nobody looked are not to push out all other events."""

_SIGNS = {
    "GreaterThanOrEqualToThreshold": "≥",
    "GreaterThanThreshold": ">",
    "LessThanThreshold": "<",
    "LessThanOrEqualToThreshold": "≤",
}


class Alarms:
    """Asks boto3's client `cloudwatch`; `tell` is told of each change once, with its time."""

    def __init__(self, cloudwatch: Any, tell: Tell) -> None:
        self._cloudwatch, self._tell = cloudwatch, tell
        self._states: dict[str, Any] = {}
        self._last: Record | None = None  # of the changes that were told

    def look(self) -> list[Alarm]:
        """Return the alarms by name. Raises botocore's errors."""
        pages = self._cloudwatch.get_paginator("describe_alarms").paginate(AlarmTypes=KINDS)
        records = [
            alarm
            for page in pages
            for kind in ("MetricAlarms", "CompositeAlarms")
            for alarm in page.get(kind, [])
        ]
        alarms = sorted(map(_alarm, records), key=lambda it: it["name"])
        states = {
            it["AlarmName"]: (it["StateValue"], it["StateUpdatedTimestamp"]) for it in records
        }
        if states != self._states:
            self._tell_changes({it["name"]: it for it in alarms})
            self._states = states
        return alarms

    def _tell_changes(self, alarms: dict[str, Alarm]) -> None:
        pages = self._cloudwatch.get_paginator("describe_alarm_history").paginate(
            AlarmTypes=KINDS,
            HistoryItemType="StateUpdate",
            PaginationConfig={"MaxItems": MOST_CHANGES},
        )
        latest_first = (it for page in pages for it in page["AlarmHistoryItems"])
        changes = list(takewhile(lambda it: it != self._last, latest_first))
        for change in reversed(changes):
            if alarm := alarms.get(change["AlarmName"]):
                self._tell_change(change, alarm)
            self._last = change

    def _tell_change(self, change: Record, alarm: Alarm) -> None:
        """Tell a change, unless it is an alarm's creation, which ministack keeps as one.

        HistoryData's shape: aws-cli's awscli/examples/cloudwatch/describe-alarm-history.rst.
        """
        data = json.loads(change["HistoryData"])
        before, after = data["oldState"], data["newState"]
        if before["stateValue"] == after["stateValue"]:
            return
        said = change["HistorySummary"].removeprefix("Alarm ")
        message = f"{alarm['name']}: {said}. {after['stateReason']}"
        kind = Kind.ALARM if after["stateValue"] == "ALARM" else Kind.ALARM_ENDED
        place, time = (alarm["endpoint"], alarm["variant"]), change["Timestamp"].timestamp()
        self._tell(Happening(kind, message, *place, time=time))


def _alarm(record: Record) -> Alarm:
    metric = _metric(record)
    dimensions = {it["Name"]: it["Value"] for it in metric.get("Dimensions", [])}
    threshold, data = record.get("Threshold"), json.loads(record.get("StateReasonData") or "{}")
    return Alarm(
        name=record["AlarmName"],
        endpoint=dimensions.get("EndpointName"),
        variant=dimensions.get("VariantName"),
        watches=metric.get("MetricName") or record.get("AlarmRule", ""),
        condition=_condition(record, metric),
        threshold=threshold,
        value=_last(data.get("recentDatapoints", [])),
        state=record["StateValue"],
        since=record["StateUpdatedTimestamp"].timestamp(),
    )


def _metric(record: Record) -> Record:
    """Return the names of an alarm's metric; of an expression, those of the first metric in it."""
    queries = record.get("Metrics", ())
    if not (metrics := [it["MetricStat"] for it in queries if "MetricStat" in it]):
        return record
    (expression,) = (it["Expression"] for it in queries if "Expression" in it)
    return {**metrics[0]["Metric"], "MetricName": expression, "Period": metrics[0]["Period"]}


def _condition(record: Record, metric: Record) -> str:
    if "Threshold" not in record:
        return "its rule is true"
    statistic = record.get("ExtendedStatistic") or record.get("Statistic") or "value"
    sign = _SIGNS.get(record["ComparisonOperator"], record["ComparisonOperator"])
    periods = record["EvaluationPeriods"]
    needed = record.get("DatapointsToAlarm") or periods
    return (
        f"{statistic} {sign} {record['Threshold']:g} in {needed} of {periods} periods of "
        f"{metric['Period']} s"
    )


def _last(points: Iterable[float]) -> float | None:
    return next(reversed(list(points)), None)
