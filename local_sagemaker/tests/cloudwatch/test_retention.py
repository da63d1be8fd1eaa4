"""Retention of metrics, alarm history and log events in ministack's CloudWatch."""

import importlib
from collections.abc import Iterator
from typing import Any

import pytest
from ministack.services import cloudwatch as metrics
from ministack.services import cloudwatch_logs as logs

from local_sagemaker.cloudwatch import retention as retention_module
from local_sagemaker.cloudwatch.retention import DAY_SECONDS, Retention

START = 1_800_000_000
GROUP = "/aws/sagemaker/Endpoints/text"


@pytest.fixture
def _empty() -> Iterator[None]:
    """Reset the CloudWatch modules of ministack before and after the test."""
    for module in (metrics, logs):
        importlib.reload(module)
    yield
    for module in (metrics, logs):
        importlib.reload(module)


@pytest.fixture
def retention(_empty: None) -> Retention:
    """The retention of the reset modules."""
    return Retention(metrics, logs, speed=60)


def put(name: str, *times: float) -> None:
    data = [{"MetricName": name, "Value": time, "Timestamp": time} for time in times]
    requests = {"Namespace": "N", "MetricData": data}
    metrics._put_metric_data({}, requests, is_cbor=False, is_json=True)


def stored_values() -> dict[str, list[float]]:
    return {
        name: [point["Value"] for point in points]
        for (_, name, _), points in metrics._metrics.items()
    }


def alarm(**members: Any) -> None:
    requests = {
        **{"AlarmName": "a", "Namespace": "N", "MetricName": "m", "Statistic": "Sum"},
        **{"EvaluationPeriods": 1, "Threshold": 5, "ComparisonOperator": "GreaterThanThreshold"},
        **members,
    }
    metrics._put_metric_alarm({}, requests, is_cbor=False, is_json=True)


def write(stream: str, *times: int) -> None:
    if GROUP not in logs._log_groups:
        logs._create_log_group({"logGroupName": GROUP})
    names = {"logGroupName": GROUP, "logStreamName": stream}
    logs._create_log_stream(names)
    events = [{"timestamp": time, "message": str(time)} for time in times]
    logs._put_log_events({**names, "logEvents": events})


def log_messages() -> dict[str, list[str]]:
    streams = logs._log_groups[GROUP]["streams"]
    return {
        name: [event["message"] for event in stream["events"]] for name, stream in streams.items()
    }


def test_metrics_are_kept_for_one_day(
    retention: Retention,
) -> None:
    put("old", START)
    put("both", START, START + 1)
    retention.delete_old_data(START + DAY_SECONDS / 60)
    assert stored_values() == {"old": [START], "both": [START, START + 1]}
    retention.delete_old_data(START + DAY_SECONDS / 60 + 0.5)
    assert stored_values() == {"both": [START + 1]}


def test_last_five_minutes_are_kept_at_any_speed(retention: Retention) -> None:
    retention._speed = 6000
    put("m", START)
    retention.delete_old_data(START + 300)
    assert stored_values() == {"m": [START]}
    retention.delete_old_data(START + 400)
    assert stored_values() == {}


def test_metrics_are_kept_for_the_range_of_alarms(retention: Retention) -> None:
    week = 7 * DAY_SECONDS
    alarm(Period=DAY_SECONDS, EvaluationPeriods=7)
    put("m", START)
    retention.delete_old_data(START + week / 60)
    assert stored_values() == {"m": [START]}
    retention.delete_old_data(START + 2 * week / 60)
    assert stored_values() == {}


def test_number_of_datapoints_is_limited(
    retention: Retention, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention_module, "MAX_POINTS", 2)
    put("m", *range(START, START + 5))
    retention.delete_old_data(START)
    assert stored_values() == {"m": [START + 3, START + 4]}


def test_alarm_history_is_limited(retention: Retention, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention_module, "MAX_CHANGES", 2)
    alarm(Period=60)
    for state in ("OK", "ALARM", "OK"):
        change = {"AlarmName": "a", "StateValue": state, "StateReason": "test"}
        metrics._set_alarm_state({}, change, is_cbor=False, is_json=True)
    retention.delete_old_data(START)
    changes = [entry["HistorySummary"] for entry in metrics._history_entries()]
    assert changes == ["Alarm updated from OK to ALARM", "Alarm updated from ALARM to OK"]


def test_number_of_log_events_is_limited(
    retention: Retention, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention_module, "MAX_EVENTS", 2)
    write("long", 1, 3, 5)
    write("short", 2, 4)
    retention.delete_old_data(START)
    assert log_messages() == {"long": ["3", "5"], "short": ["2", "4"]}
    assert sorted(record["@message"] for record in logs._log_records.values()) == [
        "2",
        "3",
        "4",
        "5",
    ]
