"""Alarms on an expression, kept by ministack's own CloudWatch and CloudFormation."""

import importlib
import json
from collections.abc import Iterator
from typing import Any

import pytest
from ministack.services import cloudwatch as ministack
from ministack.services.cloudformation import provisioners

from local_sagemaker.cloudwatch.evaluator import Evaluator
from local_sagemaker.cloudwatch.expressions import Expression, install

T0 = 1_800_000_000  # a full minute
EXPRESSION = "IF(measured < 1, requests, 0)"

Record = dict[str, Any]


@pytest.fixture
def evaluator(monkeypatch: pytest.MonkeyPatch) -> Iterator[Evaluator]:
    """Of ministack's module, which is empty, and afterwards as it was."""
    importlib.reload(ministack)
    record = provisioners._cw_metric_alarm_record
    monkeypatch.setattr(provisioners, "_cw_metric_alarm_record", record)
    monkeypatch.setattr(provisioners, "_cw", ministack)
    install(ministack, provisioners)
    yield Evaluator(ministack, speed=1)
    importlib.reload(ministack)


def queries(expression: str = EXPRESSION, **periods: int) -> list[Record]:
    """Metrics as a template has them."""
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


def ask(operation: str, **request: Any) -> tuple[int, Record]:
    answer = getattr(ministack, operation)({}, request, is_cbor=False, is_json=True)
    status, _, body = answer
    return status, json.loads(body) if body else {}


def put(**values: float) -> None:
    data = [{"MetricName": it, "Value": value, "Timestamp": T0} for it, value in values.items()]
    ask("_put_metric_data", Namespace="N", MetricData=data)


def described() -> Record:
    (alarm,) = ask("_describe_alarms", AlarmNames=["a"])[1]["MetricAlarms"]
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
def test_an_alarm_can_watch_one_metric_while_another_has_data(
    evaluator: Evaluator, data: dict[str, float], state: str
) -> None:
    ask("_put_metric_alarm", **ALARM, Metrics=queries())
    put(**data)
    evaluator.evaluate(T0 + 60)
    assert described()["StateValue"] == state


def test_it_is_described_with_its_metrics_and_as_none_of_one_metric(evaluator: Evaluator) -> None:
    ask("_put_metric_alarm", **ALARM, Metrics=queries())
    alarm = described()
    assert alarm["Metrics"] == queries()
    assert not alarm.keys() & {"MetricName", "Namespace", "Period", "Statistic"}


def test_cloudformation_makes_it(evaluator: Evaluator) -> None:
    provisioners._cw_metric_alarm_put("a", {**ALARM, "Metrics": queries()})
    put(measured=0, requests=1)
    evaluator.evaluate(T0 + 60)
    assert described()["StateValue"] == "ALARM"
    assert described()["Metrics"] == queries()


@pytest.mark.parametrize(
    ("metrics", "why"),
    [
        (queries("measured / requests"), "computes one IF.* not measured / requests"),
        (queries("IF(loaded < 1, requests, 0)"), "not IF.loaded"),
        (queries(requests=300), "one period"),
    ],
)
def test_other_expressions_are_refused(
    evaluator: Evaluator, metrics: list[Record], why: str
) -> None:
    status, answer = ask("_put_metric_alarm", **ALARM, Metrics=metrics)
    assert status == 400
    with pytest.raises(ValueError, match=why) as refused:
        Expression.of(metrics)
    assert answer["message"] == str(refused.value)
    assert ministack._alarms.get("a") is None
