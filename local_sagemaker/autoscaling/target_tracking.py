"""How many instances target tracking asks for: arithmetic, and nothing else.

Source, unless it says otherwise: the Application Auto Scaling user guide, "Target tracking scaling
policies" and "How target tracking scaling works" ("the guide").
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction


class NotScaled(StrEnum):
    """Why nothing is scaled although an alarm asks for it: API reference of NotScaledReason."""

    FLAPPING = "AutoScalingAnticipatedFlapping"
    UNSCALABLE = "TargetServicePutResourceAsUnscalable"
    AT_MAX = "AlreadyAtMaxCapacity"
    AT_MIN = "AlreadyAtMinCapacity"
    AT_DESIRED = "AlreadyAtDesiredCapacity"


@dataclass(frozen=True)
class Policy:
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
    scales_in: bool = True


@dataclass(frozen=True)
class Decision:
    """The capacity that a policy asks for, within the limits; or why it is not changed."""

    policy: str
    scales_out: bool
    capacity: int
    reason: NotScaled | None = None


def capacity_for(base: int, metric: float, target: float) -> int:
    """Return how many instances bring a metric, which `base` of them have, to its target.

    "Proportional to the metric value", and rounded up: "by rounding up or down when it determines
    how much capacity to add or remove", which "prevents it from adding insufficient capacity or
    removing too much capacity". One at least.
    """
    return max(1, math.ceil(base * Fraction(metric) / Fraction(target)))


def decide(
    policies: Sequence[Policy], *, current: int, smallest: int, largest: int
) -> Decision | None:
    """Return what the policies of one target ask for together; None while no alarm asks.

    It is scaled out "if any of the target tracking policies are ready for scale out", and in "only
    if all of the target tracking policies (with the scale-in portion enabled) are ready"; by "the
    policy that provides the largest capacity for both".
    """
    out = [it for it in policies if it.high]
    if out:
        return _out(out, current, largest)
    enabled = [it for it in policies if it.scales_in]
    if enabled and all(it.low for it in enabled):
        return _in(enabled, current, smallest)
    return None


def _out(policies: Sequence[Policy], current: int, largest: int) -> Decision:
    """Scale out by each alarm's latest data point; that it is this one has no source."""
    wanted = {it.name: capacity_for(it.base, (it.high or [0])[-1], it.target) for it in policies}
    name = max(wanted, key=lambda it: wanted[it])
    if current >= largest:
        return Decision(name, True, current, NotScaled.AT_MAX)
    if wanted[name] <= current:
        return Decision(name, True, current, NotScaled.AT_DESIRED)
    return Decision(name, True, min(wanted[name], largest))


def _in(policies: Sequence[Policy], current: int, smallest: int) -> Decision:
    """Scale in to what bears the largest of all evaluated data points.

    That it is the largest is our choice, the careful one. Nothing is removed if "removing a minimum
    unit of capacity would likely cause the metric to be above the target value", which is an
    "anticipated flapping". The guide says that it "scales in more gradually" than in proportion; a
    table of DynamoDB was seen to go from 5 to 1 in one step: the alarm's 15 minutes, the cooldown
    and the rounding are all that is gradual here.
    """
    wanted = {it.name: capacity_for(current, max(it.low or [0]), it.target) for it in policies}
    name = max(wanted, key=lambda it: wanted[it])
    if current <= smallest:
        return Decision(name, False, current, NotScaled.AT_MIN)
    if wanted[name] >= current:
        return Decision(name, False, current, NotScaled.FLAPPING)
    return Decision(name, False, max(wanted[name], smallest))
