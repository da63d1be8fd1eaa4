"""The data of a metric that an alarm watches, out of ministack's store."""

import math
from typing import Any

Record = dict[str, Any]


def statistic_by_period(
    cloudwatch: Any, metric: Record, *, width: float, first: int, last: int, statistic: str = ""
) -> dict[int, float]:
    """Return a metric's statistic by period of `width` seconds, from the first to the last.

    `metric` names it as an alarm on it does, with the statistic where none is given. A period
    without data is left out. An alarm's Unit, if it has one, must be the data's: "If you specify a
    unit that the metric is not published with, this causes the alarm to be stuck in
    INSUFFICIENT_DATA" (API reference, PutMetricAlarm).
    """
    named = cloudwatch._dims_from_list(metric.get("Dimensions") or [])
    key = (metric["Namespace"], metric["MetricName"], str(cloudwatch._dims_key(named)))
    by_period: dict[int, list[Record]] = {}
    for point in reversed(cloudwatch._metrics.get(key) or []):
        period = math.floor(point["Timestamp"] / width)
        if period < first - 1:  # data comes in the order of time, but for some of a period
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
    """Return the statistic that an alarm watches."""
    return str(metric.get("ExtendedStatistic") or metric.get("Statistic") or "Average")
