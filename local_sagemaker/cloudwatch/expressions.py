"""Alarms on metric math expressions, which ministack does not support.

Supported are arithmetic and comparisons of metrics and numbers, IF, and FILL with a number. Source:
CloudWatch user guide, using-metric-math, "Using IF expressions".
"""

import ast
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Record = dict[str, Any]
Data = Mapping[int, float]
"""The values of a metric by period."""

SINGLE_METRIC_MEMBERS = (
    "Dimensions", "ExtendedStatistic", "MetricName", "Namespace", "Period", "Statistic", "Unit",
)  # fmt: skip
"""Members that only an alarm on a single metric has (API reference, PutMetricAlarm)."""

_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
"""Operators of metric math; their syntax is the same in Python."""


Value = Callable[[Mapping[str, float | None]], float | None]
"""A part of an expression: a function of the metrics' values in one period."""


@dataclass(frozen=True)
class Expression:
    """A parsed expression, whose `metrics` by id have the members of an alarm."""

    metrics: Mapping[str, Record]
    value: Value

    @classmethod
    def parse(cls, queries: Sequence[Record]) -> "Expression":
        """Parse the Metrics of an alarm. Raise `ValueError` if they are not supported."""
        metrics = {
            query["Id"]: {
                **query["MetricStat"]["Metric"],
                "Period": int(query["MetricStat"]["Period"]),
                "Statistic": query["MetricStat"]["Stat"],
                "Unit": query["MetricStat"].get("Unit"),
            }
            for query in queries
            if "MetricStat" in query
        }
        texts = [query["Expression"] for query in queries if "Expression" in query]
        listed = " and ".join(texts) or "none"
        try:
            (text,) = texts if metrics else []
            value = _compile(ast.parse(text, mode="eval").body, metrics)
        except (SyntaxError, ValueError):
            raise ValueError(
                "The local SageMaker computes one expression of metrics, numbers, + - * /, "
                f"comparisons, IF and FILL(metric, number), not {listed}."
            ) from None
        if len({metric["Period"] for metric in metrics.values()}) != 1:
            raise ValueError(
                f"The local SageMaker evaluates {listed} only if its metrics have the same period."
            )
        return cls(metrics, value)

    @property
    def period(self) -> int:
        """The period of the metrics, in seconds."""
        return int(next(iter(self.metrics.values()))["Period"])

    def values(self, data: Mapping[str, Data], periods: Iterable[int]) -> dict[int, float]:
        """Return the values by period; periods without a value are omitted.

        `data` are the values of each metric by id.
        """
        values = {
            period: self.value({name: values.get(period) for name, values in data.items()})
            for period in periods
        }
        return {period: value for period, value in values.items() if value is not None}


def _compile(node: ast.expr, metrics: Collection[str]) -> Value:
    """Return the value of a node. Raise `ValueError` for a node that is not supported.

    In IF, a condition without data gives None, and a selected metric without data is 0. Without a
    source: a division by zero gives None, and FILL fills metrics that never had data.
    """
    match node:
        case ast.Constant(value=int() | float() as number):
            return lambda _: float(number)
        case ast.Name(id=name) if name in metrics:
            return lambda data: data[name]
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            zero = ast.Constant(0.0)
            return _compile(ast.BinOp(left=zero, op=ast.Sub(), right=inner), metrics)
        case ast.Call(func=ast.Name(id="FILL"), args=[ast.Name() as metric, filler], keywords=[]):
            measured, fill = _compile(metric, metrics), _compile(filler, ())
            return lambda data: fill(data) if measured(data) is None else measured(data)
        case ast.Call(func=ast.Name(id="IF"), args=[_, _, _] as arguments, keywords=[]):
            condition, if_true, if_false = (_compile(each, metrics) for each in arguments)
            return lambda data: (
                None
                if (is_true := condition(data)) is None
                else (if_true if is_true else if_false)(data) or 0.0
            )
        case ast.BinOp(left=left, op=operation, right=right):
            return _calculation(operation, _compile(left, metrics), _compile(right, metrics))
        case ast.Compare(left=left, ops=[operation], comparators=[right]):
            return _calculation(operation, _compile(left, metrics), _compile(right, metrics))
    raise ValueError(ast.unparse(node))


def _calculation(operation: ast.AST, left: Value, right: Value) -> Value:
    """Return an operation on two values; it has no value if one is missing."""
    if type(operation) not in _OPERATORS:
        raise ValueError(type(operation).__name__)

    def calculate(data: Mapping[str, float | None]) -> float | None:
        first, second = left(data), right(data)
        if first is None or second is None or (isinstance(operation, ast.Div) and not second):
            return None
        return float(_OPERATORS[type(operation)](first, second))

    return calculate


def patch(cloudwatch: Any, provisioners: Any) -> None:
    """Add Metrics to ministack's PutMetricAlarm and AWS::CloudWatch::Alarm.

    This patches private names of the pinned version.
    """
    put, record = cloudwatch._put_metric_alarm, provisioners._cw_metric_alarm_record

    def put_with_metrics(params: Record, body: Record, is_cbor: bool, is_json: bool = False) -> Any:
        if problem := _problem(params, body):
            return cloudwatch._error("ValidationError", problem, 400, is_json, is_cbor)
        response = put(params, body, is_cbor, is_json)
        if queries := body.get("Metrics"):
            _set_queries(cloudwatch._alarms[body["AlarmName"]], queries)
        return response

    def record_with_metrics(name: str, properties: Record) -> Record:
        queries = properties.get("Metrics")
        if not queries:
            return dict(record(name, properties))
        Expression.parse(queries)
        single = {key: value for key, value in properties.items() if key != "Metrics"}
        alarm = record(name, {**single, "MetricName": "none", "Namespace": "none"})
        return _set_queries(alarm, queries)

    cloudwatch._put_metric_alarm = put_with_metrics
    provisioners._cw_metric_alarm_record = record_with_metrics


def _problem(params: Record, body: Record) -> str | None:
    """Return the error message for an invalid PutMetricAlarm, or None; `params` are form fields."""
    if "Metrics.member.1.Id" in params:
        return "The local SageMaker takes Metrics as JSON or CBOR, not as a form."
    try:
        if queries := body.get("Metrics"):
            Expression.parse(queries)
    except ValueError as error:
        return str(error)
    return None


def _set_queries(alarm: Record, queries: Sequence[Record]) -> Record:
    for name in SINGLE_METRIC_MEMBERS:
        alarm.pop(name, None)
    alarm["Metrics"] = list(queries)
    return alarm
