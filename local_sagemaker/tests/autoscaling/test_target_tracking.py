"""Arithmetic of target tracking."""

from dataclasses import replace
from typing import Any

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
        (3, 0.1, 0.1, 3),  # computed with fractions: no step from a rounding error
        (3, 0.3, 0.1, 9),
    ],
)
def test_capacity_is_proportional_and_rounded_up(
    base: int, metric: float, target: float, capacity: int
) -> None:
    assert capacity_for(base, metric, target) == capacity


@given(base=counts, metric=metrics, target=targets)
def test_capacity_is_the_smallest_that_meets_the_target(
    base: int, metric: float, target: float
) -> None:
    capacity = capacity_for(base, metric, target)
    slack = 1 + 1e-9
    assert base * metric <= capacity * target * slack
    assert capacity == 1 or (capacity - 1) * target <= base * metric * slack


def decide_with_defaults(
    *policies: PolicyState, current: int = 4, limits: tuple[int, int] = (2, 10)
) -> object:
    return decide(policies, current=current, minimum=limits[0], maximum=limits[1])


def test_scale_out_uses_the_latest_datapoint() -> None:
    rising = replace(policy(), high=[900.0, 500.0, 160.0])
    assert decide_with_defaults(rising) == Decision("p", True, 7)


def test_scale_in_needs_all_policies() -> None:
    assert decide_with_defaults(policy("a", low=10), policy("b")) is None
    assert decide_with_defaults(policy("a", low=50), policy("b", low=70)) == Decision("b", False, 3)


def test_policy_without_scale_in_is_not_asked() -> None:
    only_out = replace(policy("b"), scales_in=False)
    assert decide_with_defaults(policy("a", low=50), only_out) == Decision("a", False, 2)
    assert decide_with_defaults(replace(only_out, low=[1.0])) is None
    assert decide_with_defaults(replace(only_out, high=[150.0])) == Decision("b", True, 6)


def test_scale_in_uses_the_largest_datapoint() -> None:
    falling = replace(policy(), low=[74.0, 10.0, 1.0])
    assert decide_with_defaults(falling) == Decision("p", False, 3)


@pytest.mark.parametrize(
    ("policy", "current", "decision"),
    [
        (policy(high=900), 4, Decision("p", True, 10)),
        (policy(low=1), 4, Decision("p", False, 2)),
        (policy(high=260, base=2), 3, Decision("p", True, 6)),
    ],
)
def test_decision_within_limits(policy: PolicyState, current: int, decision: Decision) -> None:
    assert decide_with_defaults(policy, current=current) == decision


@pytest.mark.parametrize(
    ("policy", "current", "reason"),
    [
        (policy(high=900, base=10), 10, {"Code": "AlreadyAtMaxCapacity", "MaxCapacity": 10}),
        (policy(low=1, base=2), 2, {"Code": "AlreadyAtMinCapacity", "MinCapacity": 2}),
        # The capacity suffices.
        (policy(high=101, base=3), 4, {"Code": "AlreadyAtDesiredCapacity", "CurrentCapacity": 4}),
        # In a cooldown.
        (policy(high=150, base=2), 3, {"Code": "AlreadyAtDesiredCapacity", "CurrentCapacity": 3}),
        # With one instance less, the metric is above the target.
        (policy(low=89), 4, {"Code": "AutoScalingAnticipatedFlapping", "CurrentCapacity": 4}),
    ],
)
def test_reason_for_an_unchanged_capacity(
    policy: PolicyState, current: int, reason: dict[str, Any]
) -> None:
    decision = decide_with_defaults(policy, current=current)
    assert decision == Decision("p", policy.high is not None, current, reason)
