"""The capacity that target tracking calculates, without any I/O.

Source, unless stated otherwise: the Application Auto Scaling user guide, "Target tracking scaling
policies" and "How target tracking scaling works" ("the guide").
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any


@dataclass(frozen=True)
class PolicyState:
    """Current state of a policy.

    `high` and `low` are the evaluated data points of AlarmHigh and AlarmLow, the oldest first, or
    None if the alarm is not in ALARM. `base` is the capacity to which the data points refer: during
    the cooldown of a scale-out, the capacity before it. `scales_in` is False with DisableScaleIn.
    """

    name: str
    target: float
    high: Sequence[float] | None
    low: Sequence[float] | None
    base: int
    scales_in: bool = True


@dataclass(frozen=True)
class Decision:
    """A capacity within the limits, and the policy that requires it.

    `not_scaled` is the NotScaledReason if the capacity does not change.
    """

    policy: str
    scales_out: bool
    capacity: int
    not_scaled: dict[str, Any] | None = None


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
    """Return the capacity that all policies of one target require, or None if no policy is ready.

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
    scale_in = [policy for policy in policies if policy.scales_in]
    if scales_out:
        capacities = {
            policy.name: capacity_for(policy.base, policy.high[-1], policy.target)
            for policy in policies
            if policy.high
        }
    elif scale_in and all(policy.low for policy in scale_in):
        capacities = {
            policy.name: capacity_for(current, max(policy.low or [0]), policy.target)
            for policy in scale_in
        }
    else:
        return None
    name = max(capacities, key=lambda policy: capacities[policy])
    capacity = min(max(capacities[name], minimum), maximum)
    if capacity != current and (capacity > current) is scales_out:
        return Decision(name, scales_out, capacity)
    return Decision(
        name,
        scales_out,
        current,
        _not_scaled(capacities[name], scales_out, current, minimum, maximum),
    )


def at_maximum(maximum: int) -> dict[str, Any]:
    """Return the NotScaledReason of a capacity that is the maximum already."""
    return {"Code": "AlreadyAtMaxCapacity", "MaxCapacity": maximum}


def _not_scaled(
    calculated: int, scales_out: bool, current: int, minimum: int, maximum: int
) -> dict[str, Any]:
    """Return the NotScaledReason of a calculated capacity.

    Source of the codes: the user guide, "Scaling activities". That a scale-in which the rounding up
    prevents is anticipated flapping, and the members beside MaxCapacity, have no source.
    """
    if scales_out and calculated > maximum:
        return at_maximum(maximum)
    if not scales_out and current <= minimum:
        return {"Code": "AlreadyAtMinCapacity", "MinCapacity": minimum}
    code = "AlreadyAtDesiredCapacity" if scales_out else "AutoScalingAnticipatedFlapping"
    return {"Code": code, "CurrentCapacity": current}
