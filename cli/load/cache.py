"""Hit rates of model caches, by Che's approximation for LRU.

Requests are independent of each other. T is the time in which C different models are requested:
sum(1 - exp(-rate * T)) = C. A cache of C models has a model if its last request is less than T ago
(Che, Tung and Wang, "Hierarchical Web Caching Systems", IEEE JSAC 20(7), 2002).
"""

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
BISECTION_STEPS = 60


def zipf(count: int, exponent: float) -> Floats:
    """Return the shares of models by rank, in proportion to rank ** -exponent."""
    weights = np.power(np.arange(1, count + 1, dtype=np.float64), -exponent)
    return np.divide(weights, weights.sum())


def hit_rate(shares: Floats, capacity: int) -> float:
    """Return the hit rate of a cache of `capacity` models."""
    size = min(capacity, len(shares) - 1e-9)
    low, high = -50.0, 100.0  # logarithms of T
    for _ in range(BISECTION_STEPS):
        middle = (low + high) / 2
        if _cached(shares, middle).sum() > size:
            high = middle
        else:
            low = middle
    return float(shares @ _cached(shares, high))


def _cached(shares: Floats, log_time: float) -> Floats:
    """Return the probability that each model is in the cache."""
    probabilities: Floats = -np.expm1(-shares * np.exp(log_time))
    return probabilities
