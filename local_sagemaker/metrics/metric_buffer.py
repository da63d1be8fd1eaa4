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
    """The dimensions of a value; `config` and `instance_type` are optional.

    An inference component's only dimension is its name.
    """

    endpoint: str
    variant: str
    config: str | None = None
    instance_type: str | None = None
    component: str | None = None

    @property
    def dimensions(self) -> list[dict[str, str]]:
        """The Dimensions of PutMetricData."""
        values = {"EndpointName": self.endpoint, "VariantName": self.variant}
        if self.component is not None:
            values = {"InferenceComponentName": self.component}
        if self.config is not None:
            values["EndpointConfigName"] = self.config
        if self.instance_type is not None:
            values["InstanceType"] = self.instance_type
        return [{"Name": name, "Value": value} for name, value in values.items()]


class Series(NamedTuple):
    """The values of one metric with one set of dimensions in one period, with their counts."""

    metric: Metric
    place: MetricDimensions
    time: float
    values: Counter[float]


class MetricBuffer:
    """Thread-safe collection of values by period. Periods are divided by `speed`."""

    def __init__(self, speed: float, *, clock: Callable[[], float] = time.time) -> None:
        self._speed, self._clock = speed, clock
        self._lock = threading.Lock()
        self._waiting: dict[tuple[Metric, MetricDimensions, int], Counter[float]] = {}

    def add(self, metric: Metric, place: MetricDimensions, value: float) -> None:
        """Add a value that was measured now."""
        self.add_all([(metric, value)], [place])

    def add_all(
        self, measured: Iterable[tuple[Metric, float]], places: Sequence[MetricDimensions]
    ) -> None:
        """Add values that were measured now, each with all of the given dimensions."""
        now = self._clock()
        with self._lock:
            for metric, value in measured:
                rounded = _rounded(metric, value)
                for place in places:
                    self._values(metric, place, now)[rounded] += 1

    def expect(self, metric: Metric, place: MetricDimensions) -> None:
        """Publish a zero for the current period if no value is added."""
        now = self._clock()
        with self._lock:
            self._values(metric, place, now)

    def take(self) -> list[Series]:
        """Return and remove the values of completed periods, the oldest first.

        The timestamp is the middle of the period, so that rounding cannot move it to another one.
        """
        now, taken = self._clock(), list[Series]()
        with self._lock:
            for metric, place, period in list(self._waiting):
                width = self._width(metric)
                if (period + 1) * width <= now:
                    values = self._waiting.pop((metric, place, period)) or Counter({0.0: 1})
                    taken.append(Series(metric, place, (period + 0.5) * width, values))
        return sorted(taken, key=lambda series: series.time)

    def _values(self, metric: Metric, place: MetricDimensions, now: float) -> Counter[float]:
        """Return the values of the current period."""
        period = math.floor(now / self._width(metric))
        return self._waiting.setdefault((metric, place, period), Counter())

    def _width(self, metric: Metric) -> float:
        return metric.period / self._speed


def _rounded(metric: Metric, value: float) -> float:
    if metric.unit != MICROSECONDS or value <= 0:
        return float(value)
    return round(value, DIGITS - 1 - math.floor(math.log10(value)))
