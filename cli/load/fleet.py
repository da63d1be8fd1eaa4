"""A fleet of multi-model endpoints for many models: hit rates, instances and cost."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import platform_facts
from cli.load.cache import Floats, hit_rates, zipf
from platform_facts import HOURS_PER_MONTH
from platform_facts.rules.scaling import SCALING_TARGET_SHARE

MAX_MODELS = 225
"""Maximum number of models of an endpoint: leaves 50 resources for alarms, scaling and variants."""
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
    f"at most {MAX_MODELS} models per endpoint: two resources each, 50 others, 500 per template "
    "(CloudFormation user guide, cloudformation-limits)",
    f"at least {MIN_INSTANCES} instances per endpoint, in two zones (developer guide, "
    "create-multi-model-endpoint)",
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

    `separate_usd` is the price of an endpoint for each model instead.
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
    separate_usd: float | None


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
    low = math.ceil(demand.models / MAX_MODELS)
    high = max(low, math.ceil(demand.models / capacity))
    while low < high:
        middle = (low + high) // 2
        assigned = assign_shares(shares, middle)
        if float(assigned.sum(axis=1) @ hit_rates(assigned, capacity)) >= demand.hits:
            high = middle
        else:
            low = middle + 1
    assigned = assign_shares(shares, low)
    traffic = assigned.sum(axis=1)
    counts = _instance_counts(demand.rps * traffic, max_rps)
    lowest = float(traffic @ hit_rates(assigned, capacity))
    hourly = platform_facts.prices().of(region, instance_type)
    separate_counts = _instance_counts(demand.rps * shares, max_rps)
    monthly = hourly and hourly * HOURS_PER_MONTH
    return FleetPlan(
        instance_type=instance_type,
        endpoints=low,
        instances=int(counts.sum()),
        capacity=capacity,
        lowest_hits=lowest,
        highest_hits=float(traffic @ hit_rates(assigned, counts * capacity)),
        loads_per_second=demand.rps * (1 - lowest),
        needed_rps=float((demand.rps * traffic / counts).max() / SCALING_TARGET_SHARE),
        monthly_usd=monthly and monthly * int(counts.sum()),
        separate_usd=monthly and monthly * int(separate_counts.sum()),
    )


def _instance_counts(rps: Floats, max_rps: float | None) -> Floats:
    """Return the instances of each endpoint for its requests per second."""
    rates = np.ceil(rps / (SCALING_TARGET_SHARE * max_rps)) if max_rps else np.zeros(len(rps))
    return np.maximum(rates, MIN_INSTANCES)


def assign_shares(shares: Floats, endpoints: int) -> Floats:
    """Return a row of shares for each endpoint, assigned in turn; zeros fill the last round."""
    rounds = math.ceil(len(shares) / endpoints)
    padded = np.zeros(rounds * endpoints)
    padded[: len(shares)] = shares
    return padded.reshape(rounds, endpoints).T
