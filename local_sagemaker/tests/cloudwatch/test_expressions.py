"""Metric math alarms in ministack's CloudWatch and CloudFormation."""

from typing import Any

import pytest
from ministack.services import cloudwatch as ministack
from ministack.services.cloudformation import provisioners

from local_sagemaker.cloudwatch.evaluator import Evaluator
from local_sagemaker.cloudwatch.expressions import Expression, patch
from local_sagemaker.tests.cloudwatch.conftest import (
    START,
    Record,
    ask,
    call,
    describe_alarm,
    put,
)

EXPRESSION = "IF(measured < 1, requests, 0)"


@pytest.fixture
def evaluator(cloudwatch: Any, monkeypatch: pytest.MonkeyPatch) -> Evaluator:
    """An evaluator of ministack's CloudWatch."""
    record = provisioners._cw_metric_alarm_record
    monkeypatch.setattr(provisioners, "_cw_metric_alarm_record", record)
    monkeypatch.setattr(provisioners, "_cw", cloudwatch)
    patch(cloudwatch, provisioners)
    return Evaluator(cloudwatch, speed=1)


def queries(expression: str = EXPRESSION, **periods: int) -> list[Record]:
    """Return the Metrics property of an alarm."""
    metrics = [
        {
            "Id": name,
            "MetricStat": {
                "Metric": {"Namespace": "N", "MetricName": name},
                "Period": periods.get(name, 60),
                "Stat": "Sum",
            },
            "ReturnData": False,
        }
        for name in ("measured", "requests")
    ]
    return [{"Id": "expr_1", "Expression": expression}, *metrics]


ALARM = {
    "AlarmName": "a",
    "EvaluationPeriods": 1,
    "Threshold": 1,
    "ComparisonOperator": "GreaterThanOrEqualToThreshold",
    "TreatMissingData": "notBreaching",
}


def put_values(**values: float) -> None:
    for name, value in values.items():
        put(name, Value=value)


@pytest.mark.parametrize(
    ("data", "state"),
    [
        ({"measured": 0, "requests": 3}, "ALARM"),
        ({"measured": 1, "requests": 3}, "OK"),
        ({"measured": 0, "requests": 0}, "OK"),
        ({"measured": 0}, "OK"),
        ({"requests": 3}, "OK"),
        ({}, "OK"),
    ],
)
def test_alarm_on_a_conditional_expression(
    evaluator: Evaluator, data: dict[str, float], state: str
) -> None:
    call("_put_metric_alarm", **ALARM, Metrics=queries())
    put_values(**data)
    evaluator.evaluate(START + 60)
    assert describe_alarm()["StateValue"] == state


AVERAGE_UTILIZATION = (
    "(FILL(measured,0)/4+FILL(requests,0)/8)"
    "/(IF(FILL(measured,-1)>=0,1,0)+IF(FILL(requests,-1)>=0,1,0))"
)


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ({"measured": 4, "requests": 4}, 0.75),
        ({"measured": 2}, 0.5),  # an instance type without instances has no data
        ({"requests": 0}, 0),
        ({}, None),  # a division by zero
    ],
)
def test_average_of_instance_types_with_data(data: dict[str, float], value: float | None) -> None:
    values_by_name = {
        name: {7: data[name]} if name in data else {} for name in ("measured", "requests")
    }
    assert (
        Expression.parse(queries(AVERAGE_UTILIZATION)).values(values_by_name, [7]).get(7) == value
    )


def test_described_alarm_has_metrics_only(evaluator: Evaluator) -> None:
    call("_put_metric_alarm", **ALARM, Metrics=queries())
    alarm = describe_alarm()
    assert alarm["Metrics"] == queries()
    assert not alarm.keys() & {"MetricName", "Namespace", "Period", "Statistic"}


def test_alarm_is_created_by_cloudformation(evaluator: Evaluator) -> None:
    provisioners._cw_metric_alarm_put("a", {**ALARM, "Metrics": queries()})
    put_values(measured=0, requests=1)
    evaluator.evaluate(START + 60)
    assert describe_alarm()["StateValue"] == "ALARM"
    assert describe_alarm()["Metrics"] == queries()


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        (queries("SUM(METRICS())"), r"computes one expression.* not SUM\(METRICS"),
        (queries("IF(loaded < 1, requests, 0)"), "not IF.loaded"),
        (queries("FILL(measured, requests)"), "not FILL"),
        (queries("measured ^ 2"), "not measured"),
        (queries("measured +"), "not measured"),
        (queries(requests=300), "the same period"),
    ],
)
def test_unsupported_expression_is_refused(
    evaluator: Evaluator, metrics: list[Record], message: str
) -> None:
    status, answer = ask("_put_metric_alarm", **ALARM, Metrics=metrics)
    assert status == 400
    with pytest.raises(ValueError, match=message) as exc_info:
        Expression.parse(metrics)
    assert answer["message"] == str(exc_info.value)
    assert ministack._alarms.get("a") is None
