"""The metric data of ministack."""

import math
from typing import Any

Record = dict[str, Any]


def patch(cloudwatch: Any) -> None:
    """Let ministack's GetMetricData label a metric with its name, and return Messages.

    Source: localstack/localstack, tests/aws/services/cloudwatch/test_cloudwatch.snapshot.json,
    test_get_metric_with_no_results. This patches private names of the pinned version.
    """
    get_metric_data, cbor_ok, json_ok = (
        cloudwatch._get_metric_data, cloudwatch._cbor_ok, cloudwatch._json_ok
    )  # fmt: skip

    def get_with_labels(params: Record, body: Record, is_cbor: bool, is_json: bool = False) -> Any:
        for query in body.get("MetricDataQueries", []):
            if "MetricStat" in query:
                query.setdefault("Label", query["MetricStat"]["Metric"]["MetricName"])
        return get_metric_data(params, body, is_cbor, is_json)

    def with_messages(content: Record) -> Record:
        return {**content, "Messages": []} if "MetricDataResults" in content else content

    cloudwatch._get_metric_data = get_with_labels
    cloudwatch._cbor_ok = lambda content: cbor_ok(with_messages(content))
    cloudwatch._json_ok = lambda content: json_ok(with_messages(content))


def statistic_by_period(
    cloudwatch: Any, metric: Record, *, width: float, first: int, last: int, statistic: str = ""
) -> dict[int, float]:
    """Return a metric's statistic by period number, for the periods `first` to `last` with data.

    A period is `width` seconds long. `metric` has the members of an alarm, whose statistic is the
    default of `statistic`. Data with another Unit than the alarm's is ignored: "If you specify a
    unit that the metric is not published with, this causes the alarm to be stuck in
    INSUFFICIENT_DATA" (API reference, PutMetricAlarm).
    """
    dimensions = cloudwatch._dims_from_list(metric.get("Dimensions") or [])
    key = (metric["Namespace"], metric["MetricName"], str(cloudwatch._dims_key(dimensions)))
    points_by_period: dict[int, list[Record]] = {}
    for point in reversed(cloudwatch._metrics.get(key) or []):
        period = math.floor(point["Timestamp"] / width)
        if period < first - 1:  # data points are ordered, except within a period
            break
        if first <= period <= last and metric.get("Unit") in (None, "", point["Unit"]):
            points_by_period.setdefault(period, []).append(point)
    values = {}
    for period, points in points_by_period.items():
        statistics = cloudwatch._calc_stats(points)
        value = cloudwatch._stat_value(statistics, statistic or statistic_of(metric), points)
        if statistics and value is not None:
            values[period] = float(value)
    return values


def statistic_of(metric: Record) -> str:
    """Return the name of an alarm's statistic."""
    return str(metric.get("ExtendedStatistic") or metric.get("Statistic") or "Average")
