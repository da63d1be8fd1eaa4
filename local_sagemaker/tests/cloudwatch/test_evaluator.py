"""Alarms of ministack's own CloudWatch, evaluated at times that tests choose."""

import importlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from ministack.services import cloudwatch as ministack

from local_sagemaker.cloudwatch.evaluator import Evaluator

PLACE = [{"Name": "EndpointName", "Value": "text"}]
T0 = 1_800_000_000  # a full minute

Record = dict[str, Any]


@pytest.fixture
def cloudwatch() -> Iterator[Any]:
    """ministack's module, empty, and afterwards as it was."""
    importlib.reload(ministack)
    yield ministack
    importlib.reload(ministack)


@pytest.fixture
def evaluator(cloudwatch: Any) -> Evaluator:
    return Evaluator(cloudwatch, speed=1)


def ask(operation: str, **request: Any) -> Record:
    answer = getattr(ministack, operation)({}, request, is_cbor=False, is_json=True)
    status, _, body = answer
    assert status == 200
    return json.loads(body) if body else {}


def alarm(**more: Any) -> None:
    ask(
        "_put_metric_alarm",
        **{
            "AlarmName": "a",
            "Namespace": "N",
            "MetricName": "m",
            "Dimensions": PLACE,
            "Statistic": "Sum",
            "Period": 60,
            "EvaluationPeriods": 2,
            "Threshold": 5,
            "ComparisonOperator": "GreaterThanThreshold",
            **more,
        },
    )


def put(value: float, when: float, **more: Any) -> None:
    datum = {"MetricName": "m", "Dimensions": PLACE, "Value": value, "Timestamp": when, **more}
    ask("_put_metric_data", Namespace="N", MetricData=[datum])


def described(name: str = "a") -> Record:
    (result,) = ask("_describe_alarms", AlarmNames=[name])["MetricAlarms"]
    return dict(result)


def state(evaluator: Evaluator, when: float) -> str:
    evaluator.evaluate(when)
    return str(described()["StateValue"])


def test_an_alarm_looks_at_whole_periods_that_have_ended(evaluator: Evaluator) -> None:
    alarm()
    for second in (0, 30, 60, 90):
        put(3, T0 + second)
    assert described()["StateValue"] == "INSUFFICIENT_DATA"  # data alone changes nothing
    assert state(evaluator, T0 + 119) == "INSUFFICIENT_DATA"
    assert state(evaluator, T0 + 120) == "ALARM"
    assert state(evaluator, T0 + 360) == "INSUFFICIENT_DATA"  # the data is out of range


def test_of_other_dimensions_and_units_no_data_counts(evaluator: Evaluator) -> None:
    alarm(Unit="Percent")
    for second in (0, 60):
        put(9, T0 + second, Unit="Percent", Dimensions=[])
        put(9, T0 + second, Unit="None")
    assert state(evaluator, T0 + 120) == "INSUFFICIENT_DATA"
    for second in (0, 60):
        put(9, T0 + second, Unit="Percent")
    assert state(evaluator, T0 + 120) == "ALARM"


@pytest.mark.parametrize(
    ("statistic", "value"),
    [
        ({"Statistic": "Sum"}, 11.0),
        ({"Statistic": "Average"}, 2.75),
        ({"Statistic": "Maximum"}, 9.0),
        ({"Statistic": "SampleCount"}, 4.0),
        ({"Statistic": None, "ExtendedStatistic": "p50"}, 0.75),
    ],
)
def test_statistics_are_of_a_period(evaluator: Evaluator, statistic: Record, value: float) -> None:
    alarm(EvaluationPeriods=1, Threshold=value - 0.1, **statistic)
    put(0, T0, Values=[0.5, 9, 1], Counts=[2, 1, 1])
    assert state(evaluator, T0 + 60) == "ALARM"
    assert json.loads(described()["StateReasonData"])["recentDatapoints"] == [value]


def test_an_alarm_that_is_changed_keeps_its_state_until_it_is_evaluated(
    evaluator: Evaluator,
) -> None:
    # Every minute: an update that begins meanwhile meets the state of the alarm of before.
    alarm(EvaluationPeriods=1, TreatMissingData="notBreaching")
    put(9, T0 - 60)
    assert state(evaluator, T0) == "ALARM"
    alarm(EvaluationPeriods=1, TreatMissingData="notBreaching", Dimensions=[])
    assert described()["StateValue"] == "ALARM"
    assert [state(evaluator, T0 + second) for second in (1, 60)] == ["ALARM", "ALARM"]
    assert state(evaluator, T0 + 61) == "OK"


def test_the_reason_and_its_data_tell_what_was_evaluated(evaluator: Evaluator) -> None:
    alarm()
    put(7, T0)
    put(8, T0 + 60)
    evaluator.evaluate(T0 + 125)
    result = described()
    assert result["StateReason"] == (
        "Threshold Crossed: 2 out of the last 2 datapoints [8.0 (15/01/27 08:01:00), 7.0 (15/01/27 "
        "08:00:00)] were greater than the threshold (5.0) (minimum 2 datapoints for OK -> ALARM "
        "transition)."
    )
    data = json.loads(result["StateReasonData"])
    assert data["queryDate"] == "2027-01-15T08:02:05.000+0000"
    assert data["startDate"] == "2027-01-15T08:00:00.000+0000"
    assert data["recentDatapoints"] == [7.0, 8.0]
    assert data["evaluatedDatapoints"][0]["timestamp"] == "2027-01-15T08:01:00.000+0000"
    put(20, T0 + 120)
    evaluator.evaluate(T0 + 180)
    assert json.loads(described()["StateReasonData"])["recentDatapoints"] == [8.0, 20.0]


def test_a_state_that_was_set_lasts_until_the_next_evaluation(evaluator: Evaluator) -> None:
    alarm(TreatMissingData="notBreaching")
    evaluator.evaluate(T0)
    ask("_set_alarm_state", AlarmName="a", StateValue="ALARM", StateReason="a test")
    assert state(evaluator, T0 + 1) == "OK"


def test_a_change_is_in_the_history_once_and_reaches_a_composite(evaluator: Evaluator) -> None:
    alarm(TreatMissingData="notBreaching")
    ask("_put_composite_alarm", AlarmName="c", AlarmRule='ALARM("a")')
    evaluator.evaluate(T0)
    put(9, T0)
    put(9, T0 + 60)
    for _ in range(3):
        evaluator.evaluate(T0 + 120)
    history = ask("_describe_alarm_history", AlarmName="a")["AlarmHistoryItems"]
    changes = [each["HistorySummary"] for each in history]
    assert changes.count("Alarm updated from OK to ALARM") == 1
    (composite,) = ask("_describe_alarms", AlarmTypes=["CompositeAlarm"])["CompositeAlarms"]
    assert composite["StateValue"] == "ALARM"


def test_a_faster_time_has_shorter_periods(cloudwatch: Any) -> None:
    evaluator = Evaluator(cloudwatch, speed=60)
    alarm()
    for second in (0, 1):
        put(9, T0 + second + 0.5)
    assert state(evaluator, T0 + 2.1) == "ALARM"
    assert state(evaluator, T0 + 6.1) == "INSUFFICIENT_DATA"


def test_one_alarm_that_cannot_be_evaluated_stops_no_other(
    evaluator: Evaluator, caplog: pytest.LogCaptureFixture
) -> None:
    alarm(AlarmName="0", ComparisonOperator="GreaterThanUpperThreshold")
    put(9, T0 - 60)
    of_no_metric = {"AlarmName": "1", "ComparisonOperator": "GreaterThanThreshold"}
    ask("_put_metric_alarm", **of_no_metric)
    alarm(EvaluationPeriods=1)
    evaluator.evaluate(T0)
    assert described()["StateValue"] == "ALARM"
    assert "alarm 0" in caplog.text
    assert "alarm 1" not in caplog.text
