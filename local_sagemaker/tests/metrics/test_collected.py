"""Values on their way to CloudWatch."""

from hypothesis import given
from hypothesis import strategies as st

from local_sagemaker.metrics import names
from local_sagemaker.metrics.collected import Collected, MetricDimensions, Series

PLACE = MetricDimensions("text", "only")


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_values_come_when_their_period_has_ended_with_its_time() -> None:
    time = Time()
    collected = Collected(1, clock=time)
    for time.now in (0, 59.9, 60):
        collected.add(names.INVOCATIONS, PLACE, 1)
    (series,) = collected.take()
    assert series == Series(names.INVOCATIONS, PLACE, 30, {1: 2})  # type: ignore[arg-type]
    assert collected.take() == []
    time.now = 120
    (series,) = collected.take()
    assert (series.time, series.values) == (90, {1: 1})


def test_a_period_is_zero_if_a_value_is_expected_and_none_comes() -> None:
    time = Time()
    collected = Collected(1, clock=time)
    for time.now, act in ((0, "expect"), (61, "expect"), (62, "add"), (63, "expect"), (120, "")):
        if act == "expect":
            collected.expect(names.INVOCATIONS, PLACE)
        elif act == "add":
            collected.add(names.INVOCATIONS, PLACE, 1)
    assert [each.values for each in collected.take()] == [{0: 1}, {1: 1}]


def test_metrics_have_their_own_pace_and_a_faster_time_shorter_periods() -> None:
    time = Time()
    collected = Collected(60, clock=time)
    collected.add(names.CONCURRENT_REQUESTS, PLACE, 3)
    collected.add(names.INVOCATIONS, PLACE, 1)
    time.now = 0.5
    assert [each.metric for each in collected.take()] == [names.CONCURRENT_REQUESTS]
    time.now = 1
    assert [each.metric for each in collected.take()] == [names.INVOCATIONS]


def test_places_are_kept_apart() -> None:
    time = Time()
    collected = Collected(1, clock=time)
    places = [PLACE, MetricDimensions("text", "only", "one"), MetricDimensions("other", "only")]
    for place in places:
        collected.add(names.INVOCATIONS, place, 1)
    time.now = 60
    assert {each.place for each in collected.take()} == set(places)
    assert places[1].dimensions == [
        {"Name": "EndpointName", "Value": "text"},
        {"Name": "VariantName", "Value": "only"},
        {"Name": "EndpointConfigName", "Value": "one"},
    ]


def test_times_are_rounded_and_nothing_else() -> None:
    time = Time()
    collected = Collected(1, clock=time)
    for metric, value in (
        (names.MODEL_LATENCY, 123_456.0),
        (names.INVOCATIONS_PER_INSTANCE, 1 / 3),
    ):
        collected.add(metric, PLACE, value)
    collected.add(names.MODEL_LATENCY, PLACE, 0)
    time.now = 60
    result = {each.metric: set(each.values) for each in collected.take()}
    assert result == {
        names.MODEL_LATENCY: {120_000, 0},
        names.INVOCATIONS_PER_INSTANCE: {1 / 3},
    }


@given(st.lists(st.tuples(st.floats(0, 600), st.integers(1, 5)), max_size=30))
def test_no_value_is_lost_or_counted_twice(values: list[tuple[float, int]]) -> None:
    time = Time()
    collected = Collected(1, clock=time)
    taken = 0.0
    for time.now, value in sorted(values):
        collected.add(names.INVOCATIONS, PLACE, value)
        taken += sum(each * n for series in collected.take() for each, n in series.values.items())
    time.now = 10_000
    taken += sum(each * n for series in collected.take() for each, n in series.values.items())
    assert taken == sum(value for _, value in values)
