"""Alarms on metric math expressions, which ministack does not support.

Supported are arithmetic and comparisons of metrics and numbers, IF, and FILL with a number. Source:
CloudWatch user guide, using-metric-math, "Using IF expressions".
"""

import ast
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
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


@dataclass(frozen=True)
class Expression:
    """A parsed expression, whose `metrics` by id have the members of an alarm."""

    metrics: Mapping[str, Record]
    root: ast.expr

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
        unsupported = ValueError(
            "The local SageMaker computes one expression of metrics, numbers, + - * /, "
            f"comparisons, IF and FILL(metric, number), not {listed}."
        )
        try:
            (text,) = texts
            root = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError):
            raise unsupported from None
        if not metrics or not _is_supported(root, metrics):
            raise unsupported
        if len({metric["Period"] for metric in metrics.values()}) > 1:
            raise ValueError(
                f"The local SageMaker evaluates {listed} only if its metrics have the same period."
            )
        return cls(metrics, root)

    @property
    def period(self) -> int:
        """The period of the metrics, in seconds."""
        return int(next(iter(self.metrics.values()))["Period"])

    def values(self, data: Mapping[str, Data], periods: Iterable[int]) -> dict[int, float]:
        """Return the values by period; periods without a value are omitted.

        `data` are the values of each metric by id.
        """
        values = {
            period: _value(self.root, {name: values.get(period) for name, values in data.items()})
            for period in periods
        }
        return {period: value for period, value in values.items() if value is not None}


def _is_supported(node: ast.expr, metrics: Mapping[str, Record]) -> bool:
    """Return whether `_value` supports an expression."""
    match node:
        case ast.Constant(value=int() | float()):
            return True
        case ast.Name(id=name):
            return name in metrics
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return _is_supported(inner, metrics)
        case ast.BinOp(left=left, op=operation, right=right):
            operands = [left, right]
        case ast.Compare(left=left, ops=[operation], comparators=[right]):
            operands = [left, right]
        case ast.Call(func=ast.Name(id="FILL"), args=[ast.Name(), filler] as operands, keywords=[]):
            return not _names(filler) and all(
                _is_supported(operand, metrics) for operand in operands
            )
        case ast.Call(func=ast.Name(id="IF"), args=[_, _, _] as operands, keywords=[]):
            return all(_is_supported(operand, metrics) for operand in operands)
        case _:
            return False
    return type(operation) in _OPERATORS and all(
        _is_supported(operand, metrics) for operand in operands
    )


def _names(node: ast.AST) -> list[str]:
    return [descendant.id for descendant in ast.walk(node) if isinstance(descendant, ast.Name)]


def _value(node: Any, data: Mapping[str, float | None]) -> float | None:
    """Return the value of an expression in one period, or None.

    In IF, a condition without data gives None, and a selected metric without data is 0. Without a
    source: a division by zero gives None, and FILL fills metrics that never had data.
    """
    match node:
        case ast.Constant(value=int() | float() as number):
            return float(number)
        case ast.Name(id=name):
            return data[name]
        case ast.UnaryOp(operand=operand):
            value = _value(operand, data)
            return None if value is None else -value
        case ast.Call(func=ast.Name(id="FILL"), args=[metric, filler]):
            value = _value(metric, data)
            return _value(filler, data) if value is None else value
        case ast.Call(args=[condition, if_true, if_false]):
            is_true = _value(condition, data)
            if is_true is None:
                return None
            return _value(if_true if is_true else if_false, data) or 0.0
        case ast.BinOp(left=left, op=operation, right=right):
            operands = left, right
        case ast.Compare(left=left, ops=[operation], comparators=[right]):
            operands = left, right
    first, second = (_value(operand, data) for operand in operands)
    if first is None or second is None or (isinstance(operation, ast.Div) and not second):
        return None
    return float(_OPERATORS[type(operation)](first, second))


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
