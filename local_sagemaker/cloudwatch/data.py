"""Metric data of an alarm, from ministack's store."""

import math
from typing import Any

Record = dict[str, Any]


def statistic_by_period(
    cloudwatch: Any, metric: Record, *, width: float, first: int, last: int, statistic: str = ""
) -> dict[int, float]:
    """Return a metric's statistic by period number, for periods `first` to `last` with data.

    A period has `width` seconds. `metric` has the members of an alarm; its statistic is the default
    of `statistic`. Data with another Unit than the alarm's is ignored: "If you specify a unit that
    the metric is not published with, this causes the alarm to be stuck in INSUFFICIENT_DATA" (API
    reference, PutMetricAlarm).
    """
    dimensions = cloudwatch._dims_from_list(metric.get("Dimensions") or [])
    key = (metric["Namespace"], metric["MetricName"], str(cloudwatch._dims_key(dimensions)))
    by_period: dict[int, list[Record]] = {}
    for point in reversed(cloudwatch._metrics.get(key) or []):
        period = math.floor(point["Timestamp"] / width)
        if period < first - 1:  # data points are ordered, except within a period
            break
        if first <= period <= last and metric.get("Unit") in (None, "", point["Unit"]):
            by_period.setdefault(period, []).append(point)
    values = {}
    for period, points in by_period.items():
        statistics = cloudwatch._calc_stats(points)
        value = cloudwatch._stat_value(statistics, statistic or statistic_of(metric), points)
        if statistics and value is not None:
            values[period] = float(value)
    return values


def statistic_of(metric: Record) -> str:
    """Return the statistic of an alarm."""
    return str(metric.get("ExtendedStatistic") or metric.get("Statistic") or "Average")
