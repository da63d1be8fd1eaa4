"""A fleet of multi-model endpoints for many models: hit rates, instances, money."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

import platform_facts
from cli.load.cache import Floats, hit_rates, zipf
from release.review.measured_rates import SCALING_AIM
from release.review.money import HOURS_PER_MONTH

MOST_MODELS = 240
"""Models of an endpoint."""
FEWEST_INSTANCES = 2
USABLE = 0.8
MIB_PER_GIB = 1024
ASSUMPTIONS = (
    "cache hits: LRU by Che's approximation, requests independent of each other (Che, Tung and "
    "Wang, IEEE JSAC 20(7), 2002). That SageMaker unloads the least recently used model first: "
    "unsourced",
    "the lower rate of hits has each instance cache for itself; the higher has a model on one "
    "instance. SageMaker is between: it routes to the instance that has the model, and with many "
    "requests to others too (developer guide, multi-model-endpoints). From which rate on: "
    "unsourced",
    f"{USABLE:.0%} of the GPU's memory, or of the instance's without a GPU, is for models: "
    "unsourced",
    f"at most {MOST_MODELS} models an endpoint: two resources each, 500 a template (CloudFormation "
    "user guide, cloudformation-limits)",
    f"at least {FEWEST_INSTANCES} instances an endpoint, in two zones (developer guide, "
    "create-multi-model-endpoint)",
    f"scaling keeps instances at {SCALING_AIM:.0%} of the measured rate (developer guide, "
    "endpoint-scaling-loadtest)",
    "models are dealt to endpoints by rank in turn, and are of one size: ours",
)


@dataclass(frozen=True, kw_only=True)
class Demand:
    """The demand on a fleet; `hits` is the least rate of cache hits."""

    models: int
    exponent: float
    rps: float
    model_mib: float
    hits: float


@dataclass(frozen=True, kw_only=True)
class FleetPlan:
    """Endpoints of one instance type; `needed_rps` is what its busiest instance must sustain."""

    instance_type: str
    endpoints: int
    instances: int
    capacity: int
    lowest_hits: float
    highest_hits: float
    loads_per_second: float
    needed_rps: float
    monthly_usd: float | None


def candidates(region: str) -> Iterator[str]:
    """Yield the types with a price that can host multi-model endpoints, by the MME guide."""
    priced = platform_facts.prices().per_hour.get(region, {})
    for each in platform_facts.instance_types():
        if each.name in priced and each.multi_model is platform_facts.Support.YES:
            yield each.name


def plan(
    demand: Demand, instance_type: str, max_rps: float | None, region: str
) -> FleetPlan | None:
    """Return the fewest endpoints that hold the models and the rate of hits.

    None where an instance holds no model. Without a measured `max_rps`, each endpoint has
    `FEWEST_INSTANCES`.
    """
    memory = platform_facts.instance_type(instance_type).model_memory_gib * MIB_PER_GIB
    capacity = int(USABLE * memory / demand.model_mib)
    if capacity < 1:
        return None
    shares = zipf(demand.models, demand.exponent)
    low = math.ceil(demand.models / MOST_MODELS)
    high = max(low, math.ceil(demand.models / capacity))
    while low < high:
        middle = (low + high) // 2
        dealt = deal(shares, middle)
        if float(dealt.sum(axis=1) @ hit_rates(dealt, capacity)) >= demand.hits:
            high = middle
        else:
            low = middle + 1
    dealt = deal(shares, low)
    traffic = dealt.sum(axis=1)
    counts = np.full(low, FEWEST_INSTANCES)
    if max_rps:
        rates = np.ceil(demand.rps * traffic / (SCALING_AIM * max_rps)).astype(int)
        counts = np.maximum(counts, rates)
    lowest = float(traffic @ hit_rates(dealt, capacity))
    hourly = platform_facts.prices().of(region, instance_type)
    return FleetPlan(
        instance_type=instance_type,
        endpoints=low,
        instances=int(counts.sum()),
        capacity=capacity,
        lowest_hits=lowest,
        highest_hits=float(traffic @ hit_rates(dealt, counts * capacity)),
        loads_per_second=demand.rps * (1 - lowest),
        needed_rps=float((demand.rps * traffic / counts).max() / SCALING_AIM),
        monthly_usd=hourly and hourly * HOURS_PER_MONTH * int(counts.sum()),
    )


def deal(shares: Floats, endpoints: int) -> Floats:
    """Return a row of shares for each endpoint, dealt in turn; zeros fill the last round."""
    rounds = math.ceil(len(shares) / endpoints)
    padded = np.zeros(rounds * endpoints)
    padded[: len(shares)] = shares
    return padded.reshape(rounds, endpoints).T
