"""A chart of a dashboard, and the metrics in it that alarm."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aws_cdk import aws_cloudwatch as cloudwatch

from triton_sagemaker.alarm_thresholds import Thresholds
from triton_sagemaker.endpoint_metrics import MINUTE

MICROSECONDS_PER_MS = 1_000
"""Thresholds of times are in milliseconds, their metrics in microseconds."""
ABOVE = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
BELOW = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD


@dataclass(frozen=True)
class AlarmedMetric:
    """A metric of a chart, with the thresholds at which it alarms, times `scale`.

    With `requests`, the metric of a variant's requests, it alarms only where there are some.
    """

    name: str
    title: str
    metric: cloudwatch.Metric
    thresholds: Thresholds
    scale: float = 1
    comparison: cloudwatch.ComparisonOperator = ABOVE
    requests: cloudwatch.Metric | None = None

    def condition(self, threshold: float) -> dict[str, Any]:
        """Return the condition of the alarm at one of the thresholds.

        Where a minute has data of one of two metrics alone, the expression is 0 or has no data
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
    """A widget: the metrics that alarm, and those that are drawn beside them."""

    title: str
    alarmed: Sequence[AlarmedMetric] = ()
    beside: Sequence[cloudwatch.IMetric] = ()
