"""What ministack's own CloudWatch keeps, and what it forgets."""

import importlib
from collections.abc import Iterator
from typing import Any

import pytest
from ministack.services import cloudwatch as metrics
from ministack.services import cloudwatch_logs as logs

from local_sagemaker.cloudwatch import retention as retention_module
from local_sagemaker.cloudwatch.retention import DAY_SECONDS, Retention

T0 = 1_800_000_000
GROUP = "/aws/sagemaker/Endpoints/text"


@pytest.fixture
def _empty() -> Iterator[None]:
    """ministack's modules, empty, and afterwards as they were."""
    for module in (metrics, logs):
        importlib.reload(module)
    yield
    for module in (metrics, logs):
        importlib.reload(module)


@pytest.fixture
def retention(_empty: None) -> Retention:
    """Of empty modules."""
    return Retention(metrics, logs, speed=60)


def put(name: str, *times: float) -> None:
    data = [{"MetricName": name, "Value": time, "Timestamp": time} for time in times]
    requests = {"Namespace": "N", "MetricData": data}
    metrics._put_metric_data({}, requests, is_cbor=False, is_json=True)


def kept() -> dict[str, list[float]]:
    return {
        name: [point["Value"] for point in points]
        for (_, name, _), points in metrics._metrics.items()
    }


def alarm(**more: Any) -> None:
    requests = {
        **{"AlarmName": "a", "Namespace": "N", "MetricName": "m", "Statistic": "Sum"},
        **{"EvaluationPeriods": 1, "Threshold": 5, "ComparisonOperator": "GreaterThanThreshold"},
        **more,
    }
    metrics._put_metric_alarm({}, requests, is_cbor=False, is_json=True)


def write(stream: str, *times: int) -> None:
    if GROUP not in logs._log_groups:
        logs._create_log_group({"logGroupName": GROUP})
    place = {"logGroupName": GROUP, "logStreamName": stream}
    logs._create_log_stream(place)
    events = [{"timestamp": time, "message": str(time)} for time in times]
    logs._put_log_events({**place, "logEvents": events})


def written() -> dict[str, list[str]]:
    streams = logs._log_groups[GROUP]["streams"]
    return {
        name: [event["message"] for event in stream["events"]] for name, stream in streams.items()
    }


def test_metrics_are_kept_for_a_day_of_aws_s_and_not_listed_afterwards(
    retention: Retention,
) -> None:
    put("old", T0)
    put("both", T0, T0 + 1)
    retention.forget(T0 + DAY_SECONDS / 60)
    assert kept() == {"old": [T0], "both": [T0, T0 + 1]}
    retention.forget(T0 + DAY_SECONDS / 60 + 0.5)
    assert kept() == {"both": [T0 + 1]}


def test_however_fast_time_is_the_last_five_minutes_are_there(retention: Retention) -> None:
    retention._speed = 6000
    put("m", T0)
    retention.forget(T0 + 300)
    assert kept() == {"m": [T0]}
    retention.forget(T0 + 400)
    assert kept() == {}


def test_metrics_are_kept_for_as_long_as_an_alarm_looks_back(retention: Retention) -> None:
    week = 7 * DAY_SECONDS
    alarm(Period=DAY_SECONDS, EvaluationPeriods=7)
    put("m", T0)
    retention.forget(T0 + week / 60)
    assert kept() == {"m": [T0]}
    retention.forget(T0 + 2 * week / 60)
    assert kept() == {}


def test_of_many_data_points_the_latest_are_kept(
    retention: Retention, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention_module, "MOST_POINTS", 2)
    put("m", *range(T0, T0 + 5))
    retention.forget(T0)
    assert kept() == {"m": [T0 + 3, T0 + 4]}


def test_of_many_changes_of_alarms_the_latest_are_kept(
    retention: Retention, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention_module, "MOST_CHANGES", 2)
    alarm(Period=60)
    for state in ("OK", "ALARM", "OK"):
        change = {"AlarmName": "a", "StateValue": state, "StateReason": "a test says so"}
        metrics._set_alarm_state({}, change, is_cbor=False, is_json=True)
    retention.forget(T0)
    changes = [entry["HistorySummary"] for entry in metrics._history_entries()]
    assert changes == ["Alarm updated from OK to ALARM", "Alarm updated from ALARM to OK"]


def test_of_many_events_of_a_log_stream_the_latest_are_kept(
    retention: Retention, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention_module, "MOST_EVENTS", 2)
    write("long", 1, 3, 5)
    write("short", 2, 4)
    retention.forget(T0)
    assert written() == {"long": ["3", "5"], "short": ["2", "4"]}
    assert sorted(record["@message"] for record in logs._log_records.values()) == [
        "2",
        "3",
        "4",
        "5",
    ]
