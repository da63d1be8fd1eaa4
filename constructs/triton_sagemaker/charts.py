"""What a dashboard draws, and what in it alarms."""

from collections.abc import Sequence
from dataclasses import dataclass

from aws_cdk import aws_cloudwatch as cloudwatch

from triton_sagemaker.alarm_thresholds import Thresholds

MICROSECONDS_PER_MS = 1_000
"""Thresholds of times are in milliseconds, their metrics in microseconds."""

ABOVE = cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD
BELOW = cloudwatch.ComparisonOperator.LESS_THAN_THRESHOLD


@dataclass(frozen=True)
class Measure:
    """One line of a chart, with the thresholds at which it alarms."""

    name: str
    title: str
    metric: cloudwatch.Metric
    thresholds: Thresholds
    comparison: cloudwatch.ComparisonOperator = ABOVE
    scale: float = 1


@dataclass(frozen=True)
class Chart:
    """A widget: what alarms in it, and what is drawn beside it."""

    title: str
    measures: Sequence[Measure] = ()
    beside: Sequence[cloudwatch.IMetric] = ()
