"""CloudWatch's alarms and how their states change, as its API tells them."""

import json
from collections.abc import Iterable
from typing import Any

from local_aws.happenings import Happening, Kind, Tell
from local_aws.watch.schema import Alarm

Record = dict[str, Any]

KINDS = ["MetricAlarm", "CompositeAlarm"]
LATEST_CHANGES = 50

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
        self._told: set[tuple[str, str, float]] = set()

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
        found = self._cloudwatch.describe_alarm_history(
            AlarmTypes=KINDS, HistoryItemType="StateUpdate", MaxRecords=LATEST_CHANGES
        )
        changes = [
            (it["AlarmName"], it["HistorySummary"], it["Timestamp"].timestamp())
            for it in found["AlarmHistoryItems"]
        ]
        for name, said, time in reversed(changes):
            if (name, said, time) not in self._told and (alarm := alarms.get(name)):
                message = f"{name}: {said.removeprefix('Alarm ')}. {alarm['reason']}"
                place = alarm["endpoint"], alarm["variant"]
                kind = Kind.ALARM if said.endswith("to ALARM") else Kind.ALARM_ENDED
                self._tell(Happening(kind, message, *place, time=time))
        self._told = set(changes)


def _alarm(record: Record) -> Alarm:
    dimensions = {it["Name"]: it["Value"] for it in record.get("Dimensions", [])}
    threshold, data = record.get("Threshold"), json.loads(record.get("StateReasonData") or "{}")
    return Alarm(
        name=record["AlarmName"],
        endpoint=dimensions.get("EndpointName"),
        variant=dimensions.get("VariantName"),
        watches=record.get("MetricName") or record.get("AlarmRule", ""),
        condition=_condition(record),
        threshold=threshold,
        value=_last(data.get("recentDatapoints", [])),
        state=record["StateValue"],
        since=record["StateUpdatedTimestamp"].timestamp(),
        reason=record.get("StateReason", ""),
    )


def _condition(record: Record) -> str:
    if "Threshold" not in record:
        return "its rule is true"
    statistic = record.get("ExtendedStatistic") or record.get("Statistic", "")
    sign = _SIGNS.get(record["ComparisonOperator"], record["ComparisonOperator"])
    periods = record["EvaluationPeriods"]
    needed = record.get("DatapointsToAlarm") or periods
    return (
        f"{statistic} {sign} {record['Threshold']:g} in {needed} of {periods} periods of "
        f"{record['Period']} s"
    )


def _last(points: Iterable[float]) -> float | None:
    return next(reversed(list(points)), None)
