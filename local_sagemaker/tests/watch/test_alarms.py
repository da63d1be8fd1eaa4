import json
from datetime import UTC, datetime

import pytest

from local_sagemaker.dashboard_events import DashboardEvent, EventKind
from local_sagemaker.tests.autoscaling.conftest import CloudWatch
from local_sagemaker.watch.alarms import Alarms

STATE_TIME = datetime(2026, 1, 1, tzinfo=UTC)
DIMENSIONS = [{"Name": "EndpointName", "Value": "text"}, {"Name": "VariantName", "Value": "only"}]


@pytest.fixture
def cloudwatch() -> CloudWatch:
    """CloudWatch with one alarm."""
    fake = CloudWatch()
    fake.alarms["slow"] = {
        "AlarmName": "slow",
        "MetricName": "ModelLatency",
        "Dimensions": DIMENSIONS,
        "ComparisonOperator": "GreaterThanThreshold",
        "Threshold": 500000.0,
        "Statistic": "Average",
        "EvaluationPeriods": 3,
        "DatapointsToAlarm": 2,
        "Period": 60,
        "StateValue": "OK",
        "StateReason": "below",
        "StateUpdatedTimestamp": STATE_TIME,
    }
    return fake


@pytest.fixture
def events() -> list[DashboardEvent]:
    return []


@pytest.fixture
def alarms(cloudwatch: CloudWatch, events: list[DashboardEvent]) -> Alarms:
    return Alarms(cloudwatch, events.append)


def test_alarm_has_metric_condition_and_value(alarms: Alarms, cloudwatch: CloudWatch) -> None:
    cloudwatch.alarms["slow"]["StateReasonData"] = json.dumps({"recentDatapoints": [1.0, 600000.0]})
    assert alarms.read() == [
        {
            "name": "slow",
            "endpoint": "text",
            "variant": "only",
            "watches": "ModelLatency",
            "condition": "Average > 500000 in 2 of 3 periods of 60 s",
            "value": 600000.0,
            "state": "OK",
            "since": STATE_TIME.timestamp(),
        }
    ]


def test_alarm_without_dimensions_and_data(alarms: Alarms, cloudwatch: CloudWatch) -> None:
    cloudwatch.alarms["slow"]["Dimensions"] = []
    (alarm,) = alarms.read()
    assert (alarm["value"], alarm["endpoint"], alarm["variant"]) == (None, None, None)


def test_metric_math_alarm_has_the_variant_of_its_metrics(
    alarms: Alarms, cloudwatch: CloudWatch
) -> None:
    record, text = cloudwatch.alarms["slow"], "IF(m < 1, r, 0)"
    names = {name: record.pop(name) for name in ("MetricName", "Dimensions")}
    stat = {"Metric": names, "Period": record.pop("Period"), "Stat": record.pop("Statistic")}
    record["Metrics"] = [{"Id": "e", "Expression": text}, {"Id": "m", "MetricStat": stat}]
    (alarm,) = alarms.read()
    assert (alarm["endpoint"], alarm["variant"], alarm["watches"]) == ("text", "only", text)
    assert alarm["condition"] == "value > 500000 in 2 of 3 periods of 60 s"


def test_state_change_is_reported_once(
    alarms: Alarms, cloudwatch: CloudWatch, events: list[DashboardEvent]
) -> None:
    for state in ("OK", "ALARM", "ALARM", "OK"):
        cloudwatch.alarms["slow"]["StateValue"] = state
        alarms.read()
    assert [(event.kind, event.message) for event in events] == [
        (EventKind.ALARM, "slow: from OK to ALARM. below"),
        (EventKind.ALARM_ENDED, "slow: from ALARM to OK. below"),
    ]
    assert {(event.endpoint, event.variant) for event in events} == {("text", "only")}
    assert {event.time for event in events} == {STATE_TIME.timestamp()}
