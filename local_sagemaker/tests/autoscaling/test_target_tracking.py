"""The arithmetic of target tracking, by examples and by its laws."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from local_sagemaker.autoscaling.target_tracking import (
    Decision,
    PolicyState,
    capacity_for,
    decide,
)

metrics = st.floats(0, 1e6, allow_subnormal=False)
targets = st.floats(0.01, 1e6)
counts = st.integers(1, 200)


def policy(
    name: str = "p",
    *,
    high: float | None = None,
    low: float | None = None,
    target: float = 100,
    base: int = 4,
) -> PolicyState:
    return PolicyState(
        name=name,
        target=target,
        high=None if high is None else [high],
        low=None if low is None else [low],
        base=base,
    )


@pytest.mark.parametrize(
    ("base", "metric", "target", "capacity"),
    [
        (4, 101, 100, 5),  # rounded up
        (4, 75, 100, 3),
        (4, 0, 100, 0),
        (3, 0.1, 0.1, 3),  # as fractions: no step too many by what a float is not
        (3, 0.3, 0.1, 9),
    ],
)
def test_capacity_is_proportional_and_rounded_up(
    base: int, metric: float, target: float, capacity: int
) -> None:
    assert capacity_for(base, metric, target) == capacity


@given(base=counts, metric=metrics, target=targets)
def test_the_capacity_bears_the_metric_and_one_less_does_not(
    base: int, metric: float, target: float
) -> None:
    capacity = capacity_for(base, metric, target)
    slack = 1 + 1e-9
    assert base * metric <= capacity * target * slack
    assert capacity == 1 or (capacity - 1) * target <= base * metric * slack


@given(base=counts, metric=metrics, more=metrics, target=targets)
def test_a_larger_metric_never_asks_for_less(
    base: int, metric: float, more: float, target: float
) -> None:
    assert capacity_for(base, metric + more, target) >= capacity_for(base, metric, target)


def decided(*policies: PolicyState, current: int = 4, limits: tuple[int, int] = (2, 10)) -> object:
    return decide(policies, current=current, smallest=limits[0], largest=limits[1])


def test_the_latest_data_counts_when_it_scales_out() -> None:
    rising = replace(policy(), high=[900.0, 500.0, 160.0])
    assert decided(rising) == Decision("p", True, 7)


def test_it_scales_in_only_if_all_agree() -> None:
    assert decided(policy("a", low=10), policy("b")) is None
    assert decided(policy("a", low=50), policy("b", low=70)) == Decision("b", False, 3)


def test_the_largest_of_all_data_counts_when_it_scales_in() -> None:
    falling = replace(policy(), low=[74.0, 10.0, 1.0])
    assert decided(falling) == Decision("p", False, 3)


@pytest.mark.parametrize(
    ("policy", "current", "decision"),
    [
        (policy(high=900), 4, Decision("p", True, 10)),
        (policy(high=900, base=10), 10, None),  # at the most
        (policy(high=101, base=3), 4, None),  # as many as are needed
        (policy(low=1), 4, Decision("p", False, 2)),
        (policy(low=1, base=2), 2, None),  # at the least
        (policy(low=89), 4, None),  # one less would be above the target
        (policy(high=150, base=2), 3, None),  # in a cooldown
        (policy(high=260, base=2), 3, Decision("p", True, 6)),
    ],
)
def test_nothing_changes_beyond_limits_or_without_need(
    policy: PolicyState, current: int, decision: Decision | None
) -> None:
    assert decided(policy, current=current) == decision


points = st.lists(st.floats(0, 1e4), min_size=1, max_size=15)
policies_ = st.lists(
    st.builds(
        PolicyState,
        name=st.sampled_from("abc"),
        target=st.floats(1, 1e3),
        high=st.none() | points,
        low=st.none() | points,
        base=st.integers(1, 20),
    ),
    max_size=3,
)


@given(policies=policies_, current=counts, limits=st.tuples(counts, counts))
def test_what_is_decided_is_within_the_limits_and_in_the_direction(
    policies: list[PolicyState], current: int, limits: tuple[int, int]
) -> None:
    smallest, largest = sorted(limits)
    decision = decide(policies, current=current, smallest=smallest, largest=largest)
    if decision is None:
        return
    if decision.scales_out:
        assert current < decision.capacity <= largest
    else:
        assert smallest <= decision.capacity < current


@given(low=st.floats(0, 90), target=st.just(100.0), current=st.integers(2, 200))
def test_after_a_scale_in_the_metric_is_not_above_its_target(
    low: float, target: float, current: int
) -> None:
    decision = decide(
        [policy(low=low, target=target)], current=current, smallest=1, largest=current
    )
    assert decision is None or low * current / decision.capacity <= target * (1 + 1e-9)
