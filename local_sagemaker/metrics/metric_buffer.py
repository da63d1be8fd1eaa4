"""Collection of metric values by period, until they are published to CloudWatch."""

import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from local_sagemaker.metrics.names import MICROSECONDS, Metric

DIGITS = 2
"""Significant digits of latencies: limits the number of distinct values in a period."""


class MetricDimensions(NamedTuple):
    """The CloudWatch dimensions of a metric value.

    If `component` is set, the name of the inference component is the only dimension.
    """

    endpoint: str
    variant: str
    config: str | None = None
    instance_type: str | None = None
    component: str | None = None

    def to_aws(self) -> list[dict[str, str]]:
        """Return the dimensions in the format of PutMetricData."""
        values = {"EndpointName": self.endpoint, "VariantName": self.variant}
        if self.component is not None:
            values = {"InferenceComponentName": self.component}
        if self.config is not None:
            values["EndpointConfigName"] = self.config
        if self.instance_type is not None:
            values["InstanceType"] = self.instance_type
        return [{"Name": name, "Value": value} for name, value in values.items()]


class Series(NamedTuple):
    """The values of a metric in one period, each with the number of its occurrences.

    `time` is the timestamp in Unix seconds.
    """

    metric: Metric
    dimensions: MetricDimensions
    time: float
    values: Counter[float]


class MetricBuffer:
    """Metric values by period, which is divided by `speed`. All methods are thread-safe."""

    def __init__(self, speed: float, *, clock: Callable[[], float] = time.time) -> None:
        self._speed, self._clock = speed, clock
        self._lock = threading.Lock()
        self._values_by_period: dict[tuple[Metric, MetricDimensions, int], Counter[float]] = {}

    def add(self, metric: Metric, dimensions: MetricDimensions, value: float) -> None:
        """Add a value to the current period."""
        self.add_all([(metric, value)], [dimensions])

    def add_all(
        self, measured: Iterable[tuple[Metric, float]], dimension_sets: Sequence[MetricDimensions]
    ) -> None:
        """Add values to the current period, each of them with each set of dimensions."""
        now = self._clock()
        with self._lock:
            for metric, value in measured:
                rounded = _rounded(metric, value)
                for dimensions in dimension_sets:
                    self._values(metric, dimensions, now)[rounded] += 1

    def add_zero_if_empty(self, metric: Metric, dimensions: MetricDimensions) -> None:
        """Publish the value 0 for the current period unless another value is added to it."""
        now = self._clock()
        with self._lock:
            self._values(metric, dimensions, now)

    def take(self) -> list[Series]:
        """Return and remove the values of completed periods, the oldest first.

        The timestamp is the middle of the period, so that rounding cannot move it to the next.
        """
        now, completed = self._clock(), list[Series]()
        with self._lock:
            for metric, dimensions, period in list(self._values_by_period):
                width = self._width(metric)
                if (period + 1) * width <= now:
                    values = self._values_by_period.pop((metric, dimensions, period)) or Counter(
                        {0.0: 1}
                    )
                    completed.append(Series(metric, dimensions, (period + 0.5) * width, values))
        return sorted(completed, key=lambda series: series.time)

    def _values(self, metric: Metric, dimensions: MetricDimensions, now: float) -> Counter[float]:
        """Return the values of the current period."""
        period = math.floor(now / self._width(metric))
        return self._values_by_period.setdefault((metric, dimensions, period), Counter())

    def _width(self, metric: Metric) -> float:
        return metric.period / self._speed


def _rounded(metric: Metric, value: float) -> float:
    if metric.unit != MICROSECONDS or value <= 0:
        return float(value)
    return round(value, DIGITS - 1 - math.floor(math.log10(value)))
