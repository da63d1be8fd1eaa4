"""The capacity that target tracking calculates, without any I/O.

Source, unless stated otherwise: the Application Auto Scaling user guide, "Target tracking scaling
policies" and "How target tracking scaling works" ("the guide").
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class PolicyState:
    """Current state of a policy.

    `high` and `low` are the evaluated data points of AlarmHigh and AlarmLow, the oldest first, or
    None if the alarm is not in ALARM. `base` is the capacity to which the data points refer: during
    the cooldown of a scale-out, the capacity before it.
    """

    name: str
    target: float
    high: Sequence[float] | None
    low: Sequence[float] | None
    base: int


@dataclass(frozen=True)
class Decision:
    """A new capacity, within the limits, and the policy that requires it."""

    policy: str
    scales_out: bool
    capacity: int


def capacity_for(base: int, metric: float, target: float) -> int:
    """Return the capacity at which a metric, measured at capacity `base`, reaches its target.

    "Proportional to the metric value", and rounded up: "by rounding up or down when it determines
    how much capacity to add or remove", which "prevents it from adding insufficient capacity or
    removing too much capacity". The result is 0 for a metric of 0: components scale to zero.
    """
    return math.ceil(base * Fraction(metric) / Fraction(target))


def decide(
    policies: Sequence[PolicyState], *, current: int, minimum: int, maximum: int
) -> Decision | None:
    """Return the capacity change that all policies of one target require, or None.

    A target is scaled out "if any of the target tracking policies are ready for scale out", and in
    "only if all of the target tracking policies (with the scale-in portion enabled) are ready"; by
    "the policy that provides the largest capacity for both". Scale-out uses the alarm's latest data
    point, which has no source.

    Scale-in uses the largest evaluated data point, which is our choice. Nothing is removed if
    "removing a minimum unit of capacity would likely cause the metric to be above the target
    value". The guide says that target tracking "scales in more gradually"; a DynamoDB table was
    observed to go from 5 to 1 in one step, so that scale-in is only slowed by the alarm's 15
    minutes, the cooldown and the rounding here.
    """
    scales_out = any(policy.high for policy in policies)
    if scales_out:
        capacities = {
            policy.name: capacity_for(policy.base, policy.high[-1], policy.target)
            for policy in policies
            if policy.high
        }
    elif policies and all(policy.low for policy in policies):
        capacities = {
            policy.name: capacity_for(current, max(policy.low or [0]), policy.target)
            for policy in policies
        }
    else:
        return None
    name = max(capacities, key=lambda policy: capacities[policy])
    capacity = min(max(capacities[name], minimum), maximum)
    if capacity == current or (capacity > current) is not scales_out:
        return None
    return Decision(name, scales_out, capacity)
