"""A dashboard chart: metrics with alarm thresholds, and further metrics."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aws_cdk import aws_cloudwatch as cloudwatch

from triton_sagemaker.alarm_thresholds import Thresholds
from triton_sagemaker.endpoint_metrics import MINUTE

MICROSECONDS_PER_MS = 1_000
"""Thresholds of latencies are in milliseconds, their metrics in microseconds."""
ABOVE = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
BELOW = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD


@dataclass(frozen=True)
class AlarmedMetric:
    """A metric with alarm thresholds; `scale` converts a threshold to the unit of the metric.

    `requests` is the request count of the same variant: with it, the alarm ignores minutes without
    requests.
    """

    name: str
    title: str
    metric: cloudwatch.Metric
    thresholds: Thresholds
    scale: float = 1
    comparison: cloudwatch.ComparisonOperator = ABOVE
    requests: cloudwatch.Metric | None = None

    def condition(self, threshold: float) -> dict[str, Any]:
        """Return the `cloudwatch.Alarm` arguments `metric`, `comparison_operator` and `threshold`.

        In a minute with data of only one of the two metrics, the expression is 0 or has no data
        (CloudWatch user guide, using-metric-math, "Using IF expressions").
        """
        limit, metric = threshold * self.scale, self.metric
        if self.requests is None:
            return {"metric": metric, "comparison_operator": self.comparison, "threshold": limit}
        expression = cloudwatch.MathExpression(
            expression=f"IF(measured {'<' if self.comparison is BELOW else '>='} {limit:g}, "
            "requests, 0)",
            label=self.title,
            period=MINUTE,
            using_metrics={"measured": metric, "requests": self.requests},
        )
        return {"metric": expression, "comparison_operator": ABOVE, "threshold": 1}


@dataclass(frozen=True)
class Chart:
    """A dashboard widget; `other_metrics` have no alarms."""

    title: str
    alarmed: Sequence[AlarmedMetric] = ()
    other_metrics: Sequence[cloudwatch.IMetric] = ()
