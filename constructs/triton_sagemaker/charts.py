"""What a dashboard draws, and what in it alarms."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

from aws_cdk import aws_cloudwatch as cloudwatch

from triton_sagemaker.alarm_thresholds import Thresholds

MICROSECONDS_PER_MS = 1_000
"""Thresholds of times are in milliseconds, their metrics in microseconds."""

ABOVE = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
BELOW = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD
_SIGNS = {ABOVE: ">=", BELOW: "<"}


class Condition(TypedDict):
    """When an alarm goes off, as `cloudwatch.Alarm` takes it."""

    metric: cloudwatch.IMetric
    comparison_operator: cloudwatch.ComparisonOperator
    threshold: float


@dataclass(frozen=True)
class Measure:
    """One line of a chart, with the thresholds at which it alarms.

    With `requests`, the metric of a variant's requests, it alarms only where there are some.
    """

    name: str
    title: str
    metric: cloudwatch.Metric
    thresholds: Thresholds
    comparison: cloudwatch.ComparisonOperator = ABOVE
    scale: float = 1
    requests: cloudwatch.Metric | None = None

    def condition(self, threshold: float) -> Condition:
        """Return the condition of the alarm at one of the thresholds.

        Where a minute has data of one of two metrics alone, the expression is 0 or has no data
        (CloudWatch user guide, using-metric-math, "Using IF expressions").
        """
        limit = threshold * self.scale
        if self.requests is None:
            return Condition(
                metric=self.metric, comparison_operator=self.comparison, threshold=limit
            )
        expression = cloudwatch.MathExpression(
            expression=f"IF(measured {_SIGNS[self.comparison]} {limit:g}, requests, 0)",
            label=self.title,
            period=self.metric.period,
            using_metrics={"measured": self.metric, "requests": self.requests},
        )
        return Condition(metric=expression, comparison_operator=ABOVE, threshold=1)


@dataclass(frozen=True)
class Chart:
    """A widget: what alarms in it, and what is drawn beside it."""

    title: str
    measures: Sequence[Measure] = ()
    beside: Sequence[cloudwatch.IMetric] = ()
