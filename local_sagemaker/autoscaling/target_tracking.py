"""The capacity that target tracking computes: pure arithmetic.

Source, unless it says otherwise: the Application Auto Scaling user guide, "Target tracking scaling
policies" and "How target tracking scaling works" ("the guide").
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction


@dataclass(frozen=True)
class PolicyState:
    """One policy at a moment: which of its alarms are in ALARM, and the data that they evaluated.

    `high` and `low` are the metric's data points of AlarmHigh and of AlarmLow, the oldest first, or
    None where the alarm is not in ALARM. `base` is the capacity that the data is of: while the
    cooldown of a scale-out runs, what there was before it.
    """

    name: str
    target: float
    high: Sequence[float] | None
    low: Sequence[float] | None
    base: int


@dataclass(frozen=True)
class Decision:
    """Another capacity, within the limits, and the policy that needs it."""

    policy: str
    scales_out: bool
    capacity: int


def capacity_for(base: int, metric: float, target: float) -> int:
    """Return how many instances bring a metric, which `base` of them have, to its target.

    "Proportional to the metric value", and rounded up: "by rounding up or down when it determines
    how much capacity to add or remove", which "prevents it from adding insufficient capacity or
    removing too much capacity". None without any call: only components may have no copy.
    """
    return math.ceil(base * Fraction(metric) / Fraction(target))


def decide(
    policies: Sequence[PolicyState], *, current: int, smallest: int, largest: int
) -> Decision | None:
    """Return the change that the policies of one target need together, or None.

    It is scaled out "if any of the target tracking policies are ready for scale out", and in "only
    if all of the target tracking policies (with the scale-in portion enabled) are ready"; by "the
    policy that provides the largest capacity for both". That an alarm's latest data point decides
    how far to scale out has no source.

    It is scaled in to what bears the largest of all evaluated data points: our choice, the careful
    one. Nothing is removed if "removing a minimum unit of capacity would likely cause the metric to
    be above the target value". The guide says that it "scales in more gradually" than in
    proportion; a table of DynamoDB was seen to go from 5 to 1 in one step: the alarm's 15 minutes,
    the cooldown and the rounding are all that is gradual here.
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
    capacity = min(max(capacities[name], smallest), largest)
    if capacity == current or (capacity > current) is not scales_out:
        return None
    return Decision(name, scales_out, capacity)
