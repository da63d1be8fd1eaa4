"""A fleet of multi-model endpoints for many models: hit rates, instances and cost."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import platform_facts
from cli.load.cache import Floats, hit_rates, zipf
from platform_facts import HOURS_PER_MONTH
from platform_facts.rules.scaling import SCALING_TARGET_SHARE

MIN_INSTANCES = 2
USABLE_MEMORY_SHARE = 0.8
MIB_PER_GIB = 1024
ASSUMPTIONS = (
    "cache hits: LRU by Che's approximation, with independent requests (Che, Tung and Wang, IEEE "
    "JSAC 20(7), 2002). That SageMaker unloads the least recently used model first is unsourced",
    "the lower hit rate assumes that each instance caches models independently; the higher one "
    "that a model is on one instance only. SageMaker is between: it routes to the instance that "
    "has the model, and at a high rate also to others (developer guide, multi-model-endpoints). "
    "That rate is unsourced",
    f"{USABLE_MEMORY_SHARE:.0%} of the GPU's memory, or of the instance's without a GPU, is for "
    "models: unsourced",
    f"at least {MIN_INSTANCES} instances per endpoint, in two zones (developer guide, "
    "create-multi-model-endpoint), also of an endpoint for each model",
    f"scaling keeps instances at {SCALING_TARGET_SHARE:.0%} of the measured rate (developer guide, "
    "endpoint-scaling-loadtest)",
    "models are assigned to endpoints in turn, by rank, and have one size: our choice",
)


@dataclass(frozen=True, kw_only=True)
class Demand:
    """The demand on a fleet; `hits` is the minimum cache hit rate."""

    models: int
    exponent: float
    rps: float
    model_mib: float
    hits: float


@dataclass(frozen=True, kw_only=True)
class FleetPlan:
    """A fleet of one instance type; its busiest instance must sustain `needed_rps`.

    `separate_instances` and `separate_usd` are those of an endpoint for each model instead.
    """

    instance_type: str
    endpoints: int
    instances: int
    capacity: int
    lowest_hits: float
    highest_hits: float
    loads_per_second: float
    needed_rps: float
    monthly_usd: float | None
    separate_instances: int
    separate_usd: float | None

    @property
    def saving(self) -> float:
        """The share of the instances that an endpoint for each model has in addition."""
        return 1 - self.instances / self.separate_instances


def candidate_types(region: str) -> Iterator[str]:
    """Yield the instance types with a price that can host multi-model endpoints."""
    prices = platform_facts.prices().per_hour.get(region, {})
    for candidate in platform_facts.instance_types():
        if candidate.name in prices and candidate.multi_model is platform_facts.Support.YES:
            yield candidate.name


def plan_fleet(
    demand: Demand, instance_type: str, max_rps: float | None, region: str
) -> FleetPlan | None:
    """Return the fleet with the fewest endpoints for the models and the hit rate.

    Return None if a model does not fit on an instance. Without a measured `max_rps`, each endpoint
    has `MIN_INSTANCES`.
    """
    memory = platform_facts.instance_type(instance_type).model_memory_gib * MIB_PER_GIB
    capacity = int(USABLE_MEMORY_SHARE * memory / demand.model_mib)
    if capacity < 1:
        return None
    shares = zipf(demand.models, demand.exponent)
    low, high = 1, math.ceil(demand.models / capacity)
    while low < high:
        middle = (low + high) // 2
        assigned = assign_shares(shares, middle)
        if float(assigned.sum(axis=1) @ hit_rates(assigned, capacity)) >= demand.hits:
            high = middle
        else:
            low = middle + 1
    assigned = assign_shares(shares, low)
    traffic = assigned.sum(axis=1)
    counts = _instances(demand.rps * traffic, max_rps)
    separate = int(_instances(demand.rps * shares, max_rps).sum())
    lowest = float(traffic @ hit_rates(assigned, capacity))
    hourly = platform_facts.prices().of(region, instance_type)
    return FleetPlan(
        instance_type=instance_type,
        endpoints=low,
        instances=int(counts.sum()),
        capacity=capacity,
        lowest_hits=lowest,
        highest_hits=float(traffic @ hit_rates(assigned, counts * capacity)),
        loads_per_second=demand.rps * (1 - lowest),
        needed_rps=float((demand.rps * traffic / counts).max() / SCALING_TARGET_SHARE),
        monthly_usd=hourly and hourly * HOURS_PER_MONTH * int(counts.sum()),
        separate_instances=separate,
        separate_usd=hourly and hourly * HOURS_PER_MONTH * separate,
    )


def _instances(rates: Floats, max_rps: float | None) -> npt.NDArray[np.int64]:
    """Return the instances of endpoints with these rates, if an instance sustains `max_rps`."""
    needed = np.ceil(rates / (SCALING_TARGET_SHARE * max_rps)) if max_rps else np.zeros(len(rates))
    return np.maximum(MIN_INSTANCES, needed.astype(np.int64))


def assign_shares(shares: Floats, endpoints: int) -> Floats:
    """Return a row of shares for each endpoint, assigned in turn; zeros fill the last round."""
    rounds = math.ceil(len(shares) / endpoints)
    padded = np.zeros(rounds * endpoints)
    padded[: len(shares)] = shares
    return padded.reshape(rounds, endpoints).T
