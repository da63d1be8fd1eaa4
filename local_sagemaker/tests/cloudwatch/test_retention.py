"""Retention of metrics, alarm history and log events in ministack's CloudWatch."""

import importlib
from collections.abc import Iterator
from typing import Any

import pytest
from ministack.services import cloudwatch as metrics
from ministack.services import cloudwatch_logs as logs

from local_sagemaker.cloudwatch import retention as retention_module
from local_sagemaker.cloudwatch.evaluation import EXTRA_PERIODS
from local_sagemaker.cloudwatch.retention import DAY_SECONDS, MIN_RETENTION_SECONDS, Retention
from local_sagemaker.tests.cloudwatch.conftest import START, call, put, put_alarm

GROUP = "/aws/sagemaker/Endpoints/text"
WEEK_ALARM_SECONDS = (7 + EXTRA_PERIODS) * DAY_SECONDS


@pytest.fixture
def retention(cloudwatch: Any) -> Iterator[Retention]:
    """The retention of the reset modules."""
    importlib.reload(logs)
    yield Retention(cloudwatch, logs, speed=60)
    importlib.reload(logs)


def put_times(name: str, *times: float) -> None:
    for time in times:
        put(name, time, Value=time)


def stored_values() -> dict[str, list[float]]:
    return {
        name: [point["Value"] for point in points]
        for (_, name, _), points in metrics._metrics.items()
    }


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


@pytest.mark.parametrize(
    ("speed", "alarm", "seconds"),
    [
        (60, {"Period": 60}, DAY_SECONDS / 60),
        (6000, {"Period": 60}, MIN_RETENTION_SECONDS),  # at any speed
        (
            60,
            {"Period": DAY_SECONDS, "EvaluationPeriods": 7},
            (7 + EXTRA_PERIODS) * DAY_SECONDS / 60,
        ),
    ],
)
def test_metrics_are_kept_for_the_range_of_alarms_and_at_least_a_day(
    retention: Retention, speed: float, alarm: dict[str, int], seconds: float
) -> None:
    retention._speed = speed
    put_alarm(**alarm)
    put_times("old", START)
    put_times("both", START, START + 1)
    retention.delete_old_data(START + seconds)
    assert stored_values() == {"old": [START], "both": [START, START + 1]}
    retention.delete_old_data(START + seconds + 0.5)
    assert stored_values() == {"both": [START + 1]}


def test_number_of_datapoints_is_limited(
    retention: Retention, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention_module, "MAX_POINTS", 2)
    put_times("m", *range(START, START + 5))
    retention.delete_old_data(START)
    assert stored_values() == {"m": [START + 3, START + 4]}


def test_alarm_history_is_limited(retention: Retention, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention_module, "MAX_CHANGES", 2)
    put_alarm(Period=60)
    for state in ("OK", "ALARM", "OK"):
        call("_set_alarm_state", AlarmName="a", StateValue=state, StateReason="test")
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
