"""A chart of a dashboard, and its metrics with alarms."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aws_cdk import aws_cloudwatch as cloudwatch

from triton_sagemaker.alarm_thresholds import Thresholds
from triton_sagemaker.endpoint_metrics import MINUTE

MICROSECONDS_PER_MS = 1_000
"""Thresholds of durations are in milliseconds, the metrics in microseconds."""
ABOVE = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
BELOW = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD


@dataclass(frozen=True)
class AlarmedMetric:
    """A metric with alarms: each alarm compares the metric with a threshold times `scale`.

    If `requests` is set to the metric of the variant's requests, alarms ignore minutes without
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
        """Return the properties of the alarm for one of the thresholds.

        In a minute in which only one of the two metrics has data, the expression is 0 or has no
        data (CloudWatch user guide, using-metric-math, "Using IF expressions").
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
    """A widget of a dashboard: metrics with alarms, and further metrics without."""

    title: str
    alarmed_metrics: Sequence[AlarmedMetric] = ()
    other_metrics: Sequence[cloudwatch.IMetric] = ()
