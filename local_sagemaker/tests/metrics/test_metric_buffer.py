"""Metric values that are collected by period for CloudWatch."""

from local_sagemaker.metrics import names
from local_sagemaker.metrics.metric_buffer import MetricBuffer, MetricDimensions, Series

DIMENSIONS = MetricDimensions("text", "only")


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_values_are_returned_after_their_period() -> None:
    time = Time()
    buffer = MetricBuffer(1, clock=time)
    for time.now in (0, 59.9, 60):
        buffer.add(names.INVOCATIONS, DIMENSIONS, 1)
    (series,) = buffer.take()
    assert series == Series(names.INVOCATIONS, DIMENSIONS, 30, {1: 2})  # type: ignore[arg-type]
    assert buffer.take() == []
    time.now = 120
    (series,) = buffer.take()
    assert (series.time, series.values) == (90, {1: 1})


def test_expected_metric_without_values_is_0() -> None:
    time = Time()
    buffer = MetricBuffer(1, clock=time)
    buffer.add_zero_if_empty(names.INVOCATIONS, DIMENSIONS)
    time.now = 61
    buffer.add_zero_if_empty(names.INVOCATIONS, DIMENSIONS)
    buffer.add(names.INVOCATIONS, DIMENSIONS, 1)
    buffer.add_zero_if_empty(names.INVOCATIONS, DIMENSIONS)
    time.now = 120
    assert [series.values for series in buffer.take()] == [{0: 1}, {1: 1}]


def test_metrics_have_their_own_period() -> None:
    time = Time()
    buffer = MetricBuffer(60, clock=time)
    buffer.add(names.CONCURRENT_REQUESTS, DIMENSIONS, 3)
    buffer.add(names.INVOCATIONS, DIMENSIONS, 1)
    time.now = 0.5
    assert [series.metric for series in buffer.take()] == [names.CONCURRENT_REQUESTS]
    time.now = 1
    assert [series.metric for series in buffer.take()] == [names.INVOCATIONS]


def test_only_latencies_are_rounded() -> None:
    time = Time()
    buffer = MetricBuffer(1, clock=time)
    for metric, value in (
        (names.MODEL_LATENCY, 123_456.0),
        (names.INVOCATIONS_PER_INSTANCE, 1 / 3),
    ):
        buffer.add(metric, DIMENSIONS, value)
    buffer.add(names.MODEL_LATENCY, DIMENSIONS, 0)
    time.now = 60
    result = {series.metric: set(series.values) for series in buffer.take()}
    assert result == {
        names.MODEL_LATENCY: {120_000, 0},
        names.INVOCATIONS_PER_INSTANCE: {1 / 3},
    }
