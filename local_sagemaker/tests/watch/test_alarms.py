import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.paginate import Paginator

from local_sagemaker.happenings import Happening, Kind
from local_sagemaker.watch.alarms import MOST_CHANGES, Alarms

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
PAGE = 50


class CloudWatch:
    """Stands in for boto3's client: alarms, and how their states have changed, the latest first."""

    def __init__(self) -> None:
        self.metric: list[dict[str, Any]] = []
        self.composite: list[dict[str, Any]] = []
        self.changes: list[dict[str, Any]] = []
        self.asked_for_changes = 0

    def has(self, name: str, **more: Any) -> None:
        """Have an alarm that was never anything but OK."""
        self.metric.append(
            {
                "AlarmName": name,
                "MetricName": "ModelLatency",
                "Dimensions": [
                    {"Name": "EndpointName", "Value": "text"},
                    {"Name": "VariantName", "Value": "only"},
                ],
                "ComparisonOperator": "GreaterThanThreshold",
                "Threshold": 500000.0,
                "Statistic": "Average",
                "EvaluationPeriods": 3,
                "DatapointsToAlarm": 2,
                "Period": 60,
                "StateValue": "OK",
                "StateUpdatedTimestamp": BEGAN,
                **more,
            }
        )

    def change(self, name: str, before: str, after: str, seconds: int, why: str = "") -> None:
        """Bring an alarm into another state."""
        at = BEGAN + timedelta(seconds=seconds)
        (alarm,) = (it for it in self.metric if it["AlarmName"] == name)
        alarm.update(StateValue=after, StateUpdatedTimestamp=at)
        data = {
            "version": "1.0",
            "oldState": {"stateValue": before},
            "newState": {"stateValue": after, "stateReason": why},
        }
        self.changes.insert(
            0,
            {
                "AlarmName": name,
                "HistorySummary": f"Alarm updated from {before} to {after}",
                "HistoryData": json.dumps(data),
                "Timestamp": at,
            },
        )

    def get_paginator(self, operation: str) -> Any:
        if operation == "describe_alarms":
            return self
        assert operation == "describe_alarm_history"
        paginator: Any = Paginator  # whose types are wrong
        tokens = {"input_token": "NextToken", "output_token": "NextToken"}
        pages = {**tokens, "limit_key": "MaxRecords", "result_key": "AlarmHistoryItems"}
        return paginator(self.describe_alarm_history, pages, None)

    def paginate(self, *, AlarmTypes: list[str]) -> list[dict[str, Any]]:  # noqa: N803
        assert AlarmTypes == ["MetricAlarm", "CompositeAlarm"]
        return [{"MetricAlarms": self.metric}, {"CompositeAlarms": self.composite}]

    def describe_alarm_history(self, **asked: Any) -> dict[str, Any]:
        assert asked["HistoryItemType"] == "StateUpdate"
        self.asked_for_changes += 1
        begin = int(asked.get("NextToken", 0))
        more = {"NextToken": str(begin + PAGE)} if begin + PAGE < len(self.changes) else {}
        return {"AlarmHistoryItems": self.changes[begin : begin + PAGE], **more}


@pytest.fixture
def cloudwatch() -> CloudWatch:
    return CloudWatch()


@pytest.fixture
def told() -> list[Happening]:
    return []


@pytest.fixture
def alarms(cloudwatch: CloudWatch, told: list[Happening]) -> Alarms:
    return Alarms(cloudwatch, told.append)


def test_an_alarm_says_what_it_watches_and_what_that_is_now(
    alarms: Alarms, cloudwatch: CloudWatch
) -> None:
    cloudwatch.has("slow", StateReasonData=json.dumps({"recentDatapoints": [1.0, 600000.0]}))
    assert alarms.look() == [
        {
            "name": "slow",
            "endpoint": "text",
            "variant": "only",
            "watches": "ModelLatency",
            "condition": "Average > 500000 in 2 of 3 periods of 60 s",
            "threshold": 500000.0,
            "value": 600000.0,
            "state": "OK",
            "since": BEGAN.timestamp(),
        }
    ]


def test_an_alarm_on_alarms_and_one_without_data_have_no_value(
    alarms: Alarms, cloudwatch: CloudWatch
) -> None:
    cloudwatch.has("slow", Dimensions=[], StateReasonData=None)
    cloudwatch.composite = [
        {
            "AlarmName": "any",
            "AlarmRule": "ALARM(slow)",
            "StateValue": "OK",
            "StateUpdatedTimestamp": BEGAN,
        }
    ]
    rule, metric = alarms.look()
    assert (rule["watches"], rule["condition"]) == ("ALARM(slow)", "its rule is true")
    assert (rule["threshold"], rule["value"], rule["endpoint"]) == (None, None, None)
    assert (metric["value"], metric["endpoint"], metric["variant"]) == (None, None, None)


def test_an_alarm_on_an_expression_is_of_the_variant_of_its_metrics(
    alarms: Alarms, cloudwatch: CloudWatch
) -> None:
    cloudwatch.has("unserved", Threshold=1.0)
    (record,) = cloudwatch.metric
    names = {it: record.pop(it) for it in ("MetricName", "Dimensions")}
    stat = {"Metric": names, "Period": record.pop("Period"), "Stat": record.pop("Statistic")}
    text = "IF(m < 1, r)"
    record["Metrics"] = [{"Id": "e", "Expression": text}, {"Id": "m", "MetricStat": stat}]
    (alarm,) = alarms.look()
    assert (alarm["endpoint"], alarm["variant"], alarm["watches"]) == ("text", "only", text)
    assert alarm["condition"] == "value > 1 in 2 of 3 periods of 60 s"


def test_each_change_is_told_once_with_its_time(
    alarms: Alarms, cloudwatch: CloudWatch, told: list[Happening]
) -> None:
    cloudwatch.has("slow")
    cloudwatch.change("slow", "OK", "ALARM", 10, "crossed")
    cloudwatch.change("slow", "ALARM", "OK", 20, "below")
    alarms.look()
    alarms.look()
    assert [(it.time, it.message) for it in told] == [
        (BEGAN.timestamp() + 10, "slow: updated from OK to ALARM. crossed"),
        (BEGAN.timestamp() + 20, "slow: updated from ALARM to OK. below"),
    ]
    assert [it.kind for it in told] == [Kind.ALARM, Kind.ALARM_ENDED]
    assert {(it.endpoint, it.variant) for it in told} == {("text", "only")}
    cloudwatch.change("slow", "OK", "ALARM", 30)
    alarms.look()
    assert [it.time for it in told[2:]] == [BEGAN.timestamp() + 30]


def test_all_that_changed_between_two_looks_is_told(
    alarms: Alarms, cloudwatch: CloudWatch, told: list[Happening]
) -> None:
    cloudwatch.has("slow")
    alarms.look()
    for second in range(2 * PAGE + 1):
        cloudwatch.change("slow", "OK", "ALARM", second)
    alarms.look()
    assert [it.time for it in told] == [BEGAN.timestamp() + it for it in range(2 * PAGE + 1)]
    before = cloudwatch.asked_for_changes
    cloudwatch.change("slow", "ALARM", "OK", 3 * PAGE)
    alarms.look()
    assert [it.time for it in told[2 * PAGE + 1 :]] == [BEGAN.timestamp() + 3 * PAGE]
    assert cloudwatch.asked_for_changes == before + 1


def test_changes_while_nobody_looked_leave_room_for_other_events(
    alarms: Alarms, cloudwatch: CloudWatch, told: list[Happening]
) -> None:
    cloudwatch.has("slow")
    for second in range(MOST_CHANGES + 1):
        cloudwatch.change("slow", "OK", "ALARM", second)
    alarms.look()
    assert [it.time for it in told] == [BEGAN.timestamp() + 1 + it for it in range(MOST_CHANGES)]


def test_that_an_alarm_was_created_is_no_change(
    alarms: Alarms, cloudwatch: CloudWatch, told: list[Happening]
) -> None:
    cloudwatch.has("slow")
    cloudwatch.change("slow", "INSUFFICIENT_DATA", "INSUFFICIENT_DATA", 10)
    alarms.look()
    assert told == []


def test_changes_are_asked_for_only_when_a_state_has_changed(
    alarms: Alarms, cloudwatch: CloudWatch, told: list[Happening]
) -> None:
    alarms.look()
    assert cloudwatch.asked_for_changes == 0
    cloudwatch.has("slow")
    for _ in range(3):
        alarms.look()
    assert (cloudwatch.asked_for_changes, told) == (1, [])


def test_what_an_alarm_did_that_is_gone_is_not_told(
    alarms: Alarms, cloudwatch: CloudWatch, told: list[Happening]
) -> None:
    cloudwatch.has("slow")
    cloudwatch.change("slow", "OK", "ALARM", 10)
    cloudwatch.metric.clear()
    cloudwatch.has("other")
    alarms.look()
    assert told == []
