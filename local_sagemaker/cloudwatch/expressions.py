"""Alarms on an expression over several metrics, of which ministack has none.

Source: CloudWatch user guide, using-metric-math, "Using IF expressions". No other function is
emulated.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Record = dict[str, Any]
Data = Mapping[int, float]
"""The values of a metric by period."""

OF_ONE_METRIC = (
    "Dimensions", "ExtendedStatistic", "MetricName", "Namespace", "Period", "Statistic", "Unit",
)  # fmt: skip
"""What an alarm on an expression lacks (API reference, PutMetricAlarm, Metrics)."""

_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "==": operator.eq, "!=": operator.ne,
}  # fmt: skip
_NUMBER = r"\d+(?:\.\d+)?"
_VALUE = rf"[a-z]\w*|{_NUMBER}"
_IF = re.compile(
    rf"IF\(\s*([a-z]\w*)\s*([<>]=?|[=!]=)\s*({_NUMBER})\s*,\s*({_VALUE})\s*(?:,\s*({_VALUE})\s*)?\)"
)


@dataclass(frozen=True)
class Expression:
    """`IF(metric < number, value, value)`, each value a metric's or a number; the last is optional.

    `metrics` are what it is computed of, by id, each as an alarm on one metric has it.
    """

    metrics: Mapping[str, Record]
    condition: str
    comparison: str
    limit: float
    if_true: str
    if_false: str | None

    @classmethod
    def of(cls, queries: Sequence[Record]) -> "Expression":
        """Return what an alarm's Metrics ask for. Raises `ValueError` for what is not emulated."""
        metrics = {
            it["Id"]: {
                **it["MetricStat"]["Metric"],
                "Period": int(it["MetricStat"]["Period"]),
                "Statistic": it["MetricStat"]["Stat"],
                "Unit": it["MetricStat"].get("Unit"),
            }
            for it in queries
            if "MetricStat" in it
        }
        texts = [it["Expression"] for it in queries if "Expression" in it]
        match = _IF.fullmatch(texts[0]) if len(texts) == 1 else None
        if match is None:
            raise ValueError(
                "The local SageMaker computes one IF(metric < number, value, value) for an alarm, "
                f"not {' and '.join(texts) or 'none'}."
            )
        condition, comparison, limit, if_true, if_false = match.groups()
        for operand in filter(None, (condition, if_true, if_false)):
            if operand not in metrics and not operand[0].isdigit():
                raise ValueError(f"There is no metric {operand} for the expression {texts[0]}.")
        if len({it["Period"] for it in metrics.values()}) > 1:
            raise ValueError(f"The local SageMaker computes {texts[0]} of metrics with one period.")
        return cls(metrics, condition, comparison, float(limit), if_true, if_false)

    @property
    def period(self) -> int:
        """The period of its metrics, in seconds."""
        return int(self.metrics[self.condition]["Period"])

    def values(self, data: Mapping[str, Data]) -> dict[int, float]:
        """Return its values by period, of the data of each metric.

        A period in which the condition's metric has no data is dropped. Where the condition is true
        and the value's metric has none, it is 0; where it is false, the period is dropped.
        """
        found = {}
        for period, value in data[self.condition].items():
            if _COMPARISONS[self.comparison](value, self.limit):
                found[period] = _value(self.if_true, data, period) or 0.0
            elif self.if_false and (other := _value(self.if_false, data, period)) is not None:
                found[period] = other
        return found


def _value(operand: str, data: Mapping[str, Data], period: int) -> float | None:
    return data[operand].get(period) if operand in data else float(operand)


def install(cloudwatch: Any, provisioners: Any) -> None:
    """Teach ministack's PutMetricAlarm and AWS::CloudWatch::Alarm to keep Metrics.

    These are private names of the pinned version.
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
        Expression.of(queries)
        plain = {key: it for key, it in properties.items() if key != "Metrics"}
        alarm = record(name, {**plain, "MetricName": "none", "Namespace": "none"})
        return _on_expression(alarm, queries)

    cloudwatch._put_metric_alarm = put_with_metrics
    provisioners._cw_metric_alarm_record = record_with_metrics


def _problem(params: Record, body: Record) -> str | None:
    """Return why a PutMetricAlarm is refused; `params` are those of clients that send forms."""
    if "Metrics.member.1.Id" in params:
        return "The local SageMaker takes Metrics as JSON or CBOR, not as a form."
    try:
        if queries := body.get("Metrics"):
            Expression.of(queries)
    except ValueError as error:
        return str(error)
    return None


def _on_expression(alarm: Record, queries: Sequence[Record]) -> Record:
    for name in OF_ONE_METRIC:
        alarm.pop(name, None)
    alarm["Metrics"] = list(queries)
    return alarm
