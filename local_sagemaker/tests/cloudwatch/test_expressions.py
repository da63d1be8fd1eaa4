"""Metric math alarms in ministack's CloudWatch and CloudFormation."""

import importlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from ministack.services import cloudwatch as ministack
from ministack.services.cloudformation import provisioners

from local_sagemaker.cloudwatch.evaluator import Evaluator
from local_sagemaker.cloudwatch.expressions import Expression, patch

START = 1_800_000_000  # a full minute
EXPRESSION = "IF(measured < 1, requests, 0)"

Record = dict[str, Any]


@pytest.fixture
def evaluator(monkeypatch: pytest.MonkeyPatch) -> Iterator[Evaluator]:
    """An evaluator of ministack's CloudWatch module, which is reset."""
    importlib.reload(ministack)
    record = provisioners._cw_metric_alarm_record
    monkeypatch.setattr(provisioners, "_cw_metric_alarm_record", record)
    monkeypatch.setattr(provisioners, "_cw", ministack)
    patch(ministack, provisioners)
    yield Evaluator(ministack, speed=1)
    importlib.reload(ministack)


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


def call(operation: str, **request: Any) -> tuple[int, Record]:
    answer = getattr(ministack, operation)({}, request, is_cbor=False, is_json=True)
    status, _, body = answer
    return status, json.loads(body) if body else {}


def put(**values: float) -> None:
    data = [
        {"MetricName": name, "Value": value, "Timestamp": START} for name, value in values.items()
    ]
    call("_put_metric_data", Namespace="N", MetricData=data)


def describe_alarm() -> Record:
    (alarm,) = call("_describe_alarms", AlarmNames=["a"])[1]["MetricAlarms"]
    return dict(alarm)


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
    put(**data)
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
    put(measured=0, requests=1)
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
    status, answer = call("_put_metric_alarm", **ALARM, Metrics=metrics)
    assert status == 400
    with pytest.raises(ValueError, match=message) as exc_info:
        Expression.parse(metrics)
    assert answer["message"] == str(exc_info.value)
    assert ministack._alarms.get("a") is None
