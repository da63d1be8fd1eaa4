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


def hit_rates(shares: Floats, capacities: npt.ArrayLike) -> Floats:
    """Return the hit rate of each cache; row n of `shares` belongs to cache n."""
    sizes = np.minimum(np.asarray(capacities, np.float64), (shares > 0).sum(axis=1) - 1e-9)
    low, high = np.full(len(shares), -50.0), np.full(len(shares), 100.0)  # logarithms of T
    for _ in range(BISECTION_STEPS):
        middle = (low + high) / 2
        full = _cached(shares, middle).sum(axis=1) > sizes
        low, high = np.where(full, low, middle), np.where(full, middle, high)
    hits: Floats = (shares * _cached(shares, high)).sum(axis=1) / shares.sum(axis=1)
    return hits


def _cached(shares: Floats, log_times: Floats) -> Floats:
    """Return the probability that each model is in its row's cache."""
    probabilities: Floats = -np.expm1(-shares * np.exp(log_times)[:, np.newaxis])
    return probabilities
