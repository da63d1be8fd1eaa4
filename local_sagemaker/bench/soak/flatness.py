"""Whether a measure stays where it was: a trend that neither noise nor a few outliers make."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

WARM_UP = 0.25
"""Share of a run in which caches fill, pools grow and modules are imported: not looked at."""


@dataclass(frozen=True)
class Tolerance:
    """How much a measure may grow after the warm-up: a constant, and a share of what it was."""

    constant: float
    share: float = 0.0


NOT_JUDGED = Tolerance(float("inf"))


@dataclass(frozen=True)
class Trend:
    """What a measure did. `warm` is its median after the warm-up, `end` in the last quarter.

    `hourly` is its slope, an hour; `growth` what it has grown by since the warm-up.
    """

    warm: float
    end: float
    hourly: float
    growth: float
    allowed: float

    @property
    def flat(self) -> bool:
        """Whether it has grown by no more than is allowed."""
        return self.growth <= self.allowed


def trend(seconds: Sequence[float], values: Sequence[float], tolerance: Tolerance) -> Trend:
    """Return what a measure did after the warm-up, of at least 4 samples in the order of time.

    Two statistics say how much it has grown, and the smaller of them counts, so that what one of
    them takes for growth does not fail a run: the median of all slopes between two samples
    (Theil-Sen, which up to 29 % of outliers do not move), times the time after the warm-up; and
    the median of the last quarter less that of the second one, whose middles are two quarters
    apart, times 3/2 for three. A leak moves both. What load makes go up and down, and one late step
    that is followed by no other, moves at most one.

    So a leak is seen if it makes more than the tolerance in three quarters of a run: of 5 MiB in an
    hour, that is 110 KiB a minute.
    """
    at, measured = np.asarray(seconds), np.asarray(values, float)
    begin, end = at[0], at[-1]
    later = at >= begin + WARM_UP * (end - begin)
    at, measured = at[later], measured[later]
    first, second = np.triu_indices(len(at), 1)
    slope = float(np.median((measured[second] - measured[first]) / (at[second] - at[first])))
    third = (end - at[0]) / 3
    warm = float(np.median(measured[at <= at[0] + third]))
    last = float(np.median(measured[at >= end - third]))
    return Trend(
        warm=warm,
        end=last,
        hourly=slope * 3600,
        growth=min(slope * float(end - at[0]), (last - warm) * 3 / 2),
        allowed=tolerance.constant + tolerance.share * warm,
    )
