"""Arrival times of requests: a Poisson process."""

import numpy as np
import numpy.typing as npt


def poisson(rate: float, seconds: float, random: np.random.Generator) -> npt.NDArray[np.float64]:
    """Return the times, in seconds from the start, at which requests are due, sorted.

    Given their number, the arrivals of a Poisson process are independent and uniform.
    """
    return np.sort(random.uniform(0, seconds, random.poisson(rate * seconds)))
