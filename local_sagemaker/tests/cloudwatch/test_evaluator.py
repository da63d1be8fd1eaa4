"""Evaluation of the alarms in ministack's CloudWatch."""

import json
from typing import Any

import pytest

from local_sagemaker.cloudwatch.evaluator import Evaluator
from local_sagemaker.tests.cloudwatch.conftest import START, call, describe_alarm, put, put_alarm

DIMENSIONS = [{"Name": "EndpointName", "Value": "text"}]


@pytest.fixture
def evaluator(cloudwatch: Any) -> Evaluator:
    return Evaluator(cloudwatch, speed=1)


def alarm(**members: Any) -> None:
    put_alarm(**{"Dimensions": DIMENSIONS, "Period": 60, "EvaluationPeriods": 2, **members})


def put_value(value: float, time: float, **members: Any) -> None:
    put("m", time, **{"Dimensions": DIMENSIONS, "Value": value, **members})


def state(evaluator: Evaluator, time: float) -> str:
    evaluator.evaluate(time)
    return str(describe_alarm()["StateValue"])


def test_only_finished_periods_are_evaluated(evaluator: Evaluator) -> None:
    alarm()
    for second in (0, 30, 60, 90):
        put_value(3, START + second)
    assert describe_alarm()["StateValue"] == "INSUFFICIENT_DATA"  # no evaluation yet
    assert state(evaluator, START + 119) == "INSUFFICIENT_DATA"
    assert state(evaluator, START + 120) == "ALARM"
    assert state(evaluator, START + 360) == "INSUFFICIENT_DATA"  # the data is out of range


def test_other_dimensions_and_units_are_ignored(evaluator: Evaluator) -> None:
    alarm(Unit="Percent")
    for second in (0, 60):
        put_value(9, START + second, Unit="Percent", Dimensions=[])
        put_value(9, START + second, Unit="None")
    assert state(evaluator, START + 120) == "INSUFFICIENT_DATA"
    for second in (0, 60):
        put_value(9, START + second, Unit="Percent")
    assert state(evaluator, START + 120) == "ALARM"


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
def test_alarm_evaluates_its_statistic(
    evaluator: Evaluator, statistic: dict[str, Any], value: float
) -> None:
    alarm(EvaluationPeriods=1, Threshold=value - 0.1, **statistic)
    put_value(0, START, Values=[0.5, 9, 1], Counts=[2, 1, 1])
    assert state(evaluator, START + 60) == "ALARM"
    assert json.loads(describe_alarm()["StateReasonData"])["recentDatapoints"] == [value]


def test_changed_alarm_keeps_its_state_until_evaluation(
    evaluator: Evaluator,
) -> None:
    # Alarms are evaluated every minute; until then, an endpoint update sees the old state.
    alarm(EvaluationPeriods=1, TreatMissingData="notBreaching")
    put_value(9, START - 60)
    assert state(evaluator, START) == "ALARM"
    alarm(EvaluationPeriods=1, TreatMissingData="notBreaching", Dimensions=[])
    assert describe_alarm()["StateValue"] == "ALARM"
    assert [state(evaluator, START + second) for second in (1, 60)] == ["ALARM", "ALARM"]
    assert state(evaluator, START + 61) == "OK"


def test_state_reason_has_the_evaluated_datapoints(evaluator: Evaluator) -> None:
    alarm()
    put_value(7, START)
    put_value(8, START + 60)
    evaluator.evaluate(START + 125)
    result = describe_alarm()
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
    put_value(20, START + 120)
    evaluator.evaluate(START + 180)
    assert json.loads(describe_alarm()["StateReasonData"])["recentDatapoints"] == [8.0, 20.0]


def test_speed_shortens_periods(cloudwatch: Any) -> None:
    evaluator = Evaluator(cloudwatch, speed=60)
    alarm()
    for second in (0, 1):
        put_value(9, START + second + 0.5)
    assert state(evaluator, START + 2.1) == "ALARM"
    assert state(evaluator, START + 6.1) == "INSUFFICIENT_DATA"


def test_invalid_alarm_does_not_stop_others(
    evaluator: Evaluator, caplog: pytest.LogCaptureFixture
) -> None:
    alarm(AlarmName="0", ComparisonOperator="GreaterThanUpperThreshold")
    put_value(9, START - 60)
    call("_put_metric_alarm", AlarmName="1", ComparisonOperator="GreaterThanThreshold")
    alarm(EvaluationPeriods=1)
    evaluator.evaluate(START)
    assert describe_alarm()["StateValue"] == "ALARM"
    assert "alarm 0" in caplog.text
    assert "alarm 1" not in caplog.text
