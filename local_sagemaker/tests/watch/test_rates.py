import pytest

from local_sagemaker.watch.rates import MAX_SECONDS, Traffic


class Clock:
    now = 1000.5

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def traffic(clock: Clock) -> Traffic:
    return Traffic(clock)


def add(traffic: Traffic, *seconds: float, failed: bool = False) -> None:
    for second in seconds:
        traffic.add("text", "only", second, failed)


def test_variant_without_calls_has_no_rates(traffic: Traffic) -> None:
    rates = traffic.rates("text", "only", 0)
    assert rates == {"first": 1000, "calls": [], "errors": [], "p50": [], "p95": []}


def test_rates_of_finished_seconds(traffic: Traffic, clock: Clock) -> None:
    add(traffic, 0.1, 0.1)
    add(traffic, 0.1, failed=True)
    assert traffic.rates("text", "only", 0)["calls"] == []
    clock.now = 1002
    add(traffic, 0.1)
    clock.now = 1003
    rates = traffic.rates("text", "only", 0)
    assert (rates["first"], rates["calls"], rates["errors"]) == (1000, [3, 0, 1], [1, 0, 0])
    assert rates["p50"][1] is None
    assert traffic.rates("text", "other", 0)["calls"] == []


def test_rates_since_a_second(traffic: Traffic, clock: Clock) -> None:
    add(traffic, 0.1)
    clock.now = 1004
    rates = traffic.rates("text", "only", 1002)
    assert (rates["first"], rates["calls"]) == (1002, [0, 0])
    assert traffic.rates("text", "only", 5000)["calls"] == []


def test_percentiles_of_each_second(traffic: Traffic, clock: Clock) -> None:
    add(traffic, *[0.004] * 90, *[0.0076] * 10)
    clock.now += 1
    rates = traffic.rates("text", "only", 0)
    assert (rates["p50"], rates["p95"]) == ([4], [7.6])


@pytest.mark.parametrize("later", [MAX_SECONDS + 1, 10 * MAX_SECONDS])
def test_rates_are_kept_for_ten_minutes(traffic: Traffic, clock: Clock, later: int) -> None:
    add(traffic, 0.1)
    clock.now += later - 1
    add(traffic, 0.1)
    clock.now += 1
    rates = traffic.rates("text", "only", 0)
    assert len(rates["calls"]) == MAX_SECONDS
    assert sum(rates["calls"]) == 1
    assert rates["calls"][-1] == 1


def test_rates_of_deleted_endpoints_are_removed(traffic: Traffic, clock: Clock) -> None:
    add(traffic, 0.1)
    clock.now += 1
    traffic.delete_except({"text"})
    assert traffic.rates("text", "only", 0)["calls"] == [1]
    traffic.delete_except({"other"})
    assert traffic.rates("text", "only", 0)["calls"] == []
