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
}  # fmt: skip
_IF = re.compile(
    r"IF\(\s*([a-z]\w*)\s*([<>]=?)\s*(\d\S*?)\s*,\s*([a-z]\w*)\s*,\s*(\d\S*?)\s*\)", re.ASCII
)


@dataclass(frozen=True)
class Expression:
    """`IF(metric < number, metric, number)`.

    `metrics` are those that it is computed of, by id, each as an alarm on one metric has it.
    """

    metrics: Mapping[str, Record]
    condition: str
    comparison: str
    limit: float
    if_true: str
    if_false: float

    @classmethod
    def of(cls, queries: Sequence[Record]) -> "Expression":
        """Return the expression of an alarm's Metrics. Raise `ValueError` for others."""
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
        texts = " and ".join(query["Expression"] for query in queries if "Expression" in query)
        match = _IF.fullmatch(texts)
        if match is None or not {match[1], match[4]} <= metrics.keys():
            raise ValueError(
                "The local SageMaker computes one IF(metric < number, metric, number) for an "
                f"alarm, not {texts or 'none'}."
            )
        if len({metric["Period"] for metric in metrics.values()}) > 1:
            raise ValueError(f"The local SageMaker computes {texts} of metrics with one period.")
        return cls(metrics, match[1], match[2], float(match[3]), match[4], float(match[5]))

    @property
    def period(self) -> int:
        """The period of its metrics, in seconds."""
        return int(self.metrics[self.condition]["Period"])

    def values(self, data: Mapping[str, Data]) -> dict[int, float]:
        """Return its values by period, of the data of each metric.

        A period in which the condition's metric has no data is dropped. Where the condition is true
        and the other metric has none, the value is 0.
        """
        holds, if_true = _COMPARISONS[self.comparison], data[self.if_true]
        return {
            period: if_true.get(period, 0.0) if holds(value, self.limit) else self.if_false
            for period, value in data[self.condition].items()
        }


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
        plain = {key: value for key, value in properties.items() if key != "Metrics"}
        alarm = record(name, {**plain, "MetricName": "none", "Namespace": "none"})
        return _on_expression(alarm, queries)

    cloudwatch._put_metric_alarm = put_with_metrics
    provisioners._cw_metric_alarm_record = record_with_metrics


def _problem(params: Record, body: Record) -> str | None:
    """Return why a PutMetricAlarm is rejected; `params` are those of clients that send forms."""
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
