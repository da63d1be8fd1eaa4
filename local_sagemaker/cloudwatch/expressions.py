"""Alarms on metric math expressions, which ministack lacks.

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
"""Members that an alarm on an expression does not have (API reference, PutMetricAlarm)."""

_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], float]] = {
    ast.Add: operator.add, ast.Sub: operator.sub, ast.Mult: operator.mul, ast.Div: operator.truediv,
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge,
}  # fmt: skip
"""Operators of metric math; their syntax is the same in Python."""


@dataclass(frozen=True)
class Expression:
    """A parsed expression `root` over `metrics` by id, which have the members of an alarm."""

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
        shown = " and ".join(texts) or "none"
        refusal = ValueError(
            "The local SageMaker computes one expression of metrics, numbers, + - * /, "
            f"comparisons, IF and FILL(metric, number), not {shown}."
        )
        try:
            (text,) = texts
            root = ast.parse(text, mode="eval").body
        except (SyntaxError, ValueError):
            raise refusal from None
        if not metrics or not _is_computed(root, metrics):
            raise refusal
        if len({metric["Period"] for metric in metrics.values()}) > 1:
            raise ValueError(
                f"The local SageMaker evaluates {shown} only if its metrics have the same period."
            )
        return cls(metrics, root)

    @property
    def period(self) -> int:
        """The period of its metrics, in seconds."""
        return int(next(iter(self.metrics.values()))["Period"])

    def values(self, data: Mapping[str, Data], periods: Iterable[int]) -> dict[int, float]:
        """Return the values by period for the data of each metric; periods without are omitted."""
        values = {
            period: _value(self.root, {name: values.get(period) for name, values in data.items()})
            for period in periods
        }
        return {period: value for period, value in values.items() if value is not None}


def _is_computed(node: ast.expr, metrics: Mapping[str, Record]) -> bool:
    """Return whether `_value` supports an expression."""
    match node:
        case ast.Constant(value=int() | float()):
            return True
        case ast.Name(id=name):
            return name in metrics
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return _is_computed(operand, metrics)
        case ast.BinOp(left=left, op=sign, right=right):
            parts = [left, right]
        case ast.Compare(left=left, ops=[sign], comparators=[right]):
            parts = [left, right]
        case ast.Call(func=ast.Name(id="FILL"), args=[ast.Name(), filler] as parts, keywords=[]):
            return not _names(filler) and all(_is_computed(part, metrics) for part in parts)
        case ast.Call(func=ast.Name(id="IF"), args=[_, _, _] as parts, keywords=[]):
            return all(_is_computed(part, metrics) for part in parts)
        case _:
            return False
    return type(sign) in _OPERATORS and all(_is_computed(part, metrics) for part in parts)


def _names(node: ast.AST) -> list[str]:
    return [descendant.id for descendant in ast.walk(node) if isinstance(descendant, ast.Name)]


def _value(node: Any, data: Mapping[str, float | None]) -> float | None:
    """Return the value of an expression in one period, or None.

    In IF, a condition without data gives None, and a chosen metric without data counts as 0.
    Without a source: a division by zero gives None, and FILL fills metrics that never had data.
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
            holds = _value(condition, data)
            if holds is None:
                return None
            return _value(if_true if holds else if_false, data) or 0.0
        case ast.BinOp(left=left, op=sign, right=right):
            parts = left, right
        case ast.Compare(left=left, ops=[sign], comparators=[right]):
            parts = left, right
    first, second = (_value(part, data) for part in parts)
    if first is None or second is None or (isinstance(sign, ast.Div) and not second):
        return None
    return float(_OPERATORS[type(sign)](first, second))


def install(cloudwatch: Any, provisioners: Any) -> None:
    """Add Metrics to ministack's PutMetricAlarm and AWS::CloudWatch::Alarm.

    This patches private names of the pinned version.
    """
    put, record = cloudwatch._put_metric_alarm, provisioners._cw_metric_alarm_record

    def put_with_metrics(params: Record, body: Record, is_cbor: bool, is_json: bool = False) -> Any:
        if problem := _problem(params, body):
            return cloudwatch._error("ValidationError", problem, 400, is_json, is_cbor)
        answer = put(params, body, is_cbor, is_json)
        if queries := body.get("Metrics"):
            _on_expression(cloudwatch._alarms[body["AlarmName"]], queries)
        return answer

    def record_with_metrics(name: str, properties: Record) -> Record:
        queries = properties.get("Metrics")
        if not queries:
            return dict(record(name, properties))
        Expression.parse(queries)
        plain = {key: value for key, value in properties.items() if key != "Metrics"}
        alarm = record(name, {**plain, "MetricName": "none", "Namespace": "none"})
        return _on_expression(alarm, queries)

    cloudwatch._put_metric_alarm = put_with_metrics
    provisioners._cw_metric_alarm_record = record_with_metrics


def _problem(params: Record, body: Record) -> str | None:
    """Return why a PutMetricAlarm is rejected, or None; `params` are form fields."""
    if "Metrics.member.1.Id" in params:
        return "The local SageMaker takes Metrics as JSON or CBOR, not as a form."
    try:
        if queries := body.get("Metrics"):
            Expression.parse(queries)
    except ValueError as error:
        return str(error)
    return None


def _on_expression(alarm: Record, queries: Sequence[Record]) -> Record:
    for name in SINGLE_METRIC_MEMBERS:
        alarm.pop(name, None)
    alarm["Metrics"] = list(queries)
    return alarm
