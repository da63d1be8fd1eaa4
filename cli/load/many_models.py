"""`tritonsm size --models`: one endpoint for many models, and an endpoint for each of them."""

import argparse
import json
import math
import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import platform_facts
from cli.errors import CommandError
from cli.load.arguments import positive
from cli.load.cache import hit_rate, zipf
from cli.load.measurements import measurements
from platform_facts import HOURS_PER_MONTH
from platform_facts.rules.scaling import SCALING_TARGET_SHARE

MIN_INSTANCES = 2
USABLE_MEMORY_SHARE = 0.8
MIB_PER_GIB = 1024
ASSUMPTIONS = (
    "cache hits: LRU by Che's approximation, with independent requests (Che, Tung and Wang, IEEE "
    "JSAC 20(7), 2002). That SageMaker unloads the least recently used model first is unsourced",
    "the higher hit rate assumes that a model is on one instance only, the lower one that each "
    "instance caches models independently. SageMaker is between: it routes to the instance that "
    "has the model, and at a high rate also to others (developer guide, multi-model-endpoints). "
    "That rate is unsourced",
    f"{USABLE_MEMORY_SHARE:.0%} of the GPU's memory, or of the instance's without a GPU, is for "
    "models: unsourced",
    f"at least {MIN_INSTANCES} instances per endpoint, in two zones (developer guide, "
    "create-multi-model-endpoint), also of an endpoint for each model",
    f"scaling keeps instances at {SCALING_TARGET_SHARE:.0%} of the measured rate (developer guide, "
    "endpoint-scaling-loadtest)",
    "models have one size: our choice",
)
HEADER = (
    *("type", "in memory", "instances", "hits", "loads/s", "rps each", "USD/month"),
    *("one each", "USD/month", "saved"),
)
"""The columns; the last three are of an endpoint for each model."""


@dataclass(frozen=True, kw_only=True)
class Demand:
    """The requests to many models; `hits` is the required cache hit rate, each on one instance."""

    models: int
    exponent: float
    rps: float
    model_mib: float
    hits: float


@dataclass(frozen=True, kw_only=True)
class SharedEndpoint:
    """One endpoint of an instance type for all models; an instance must sustain `needed_rps`.

    `capacity` is the number of models in the memory of an instance. `separate_instances` and
    `separate_usd` are those of an endpoint for each model instead.
    """

    instance_type: str
    instances: int
    capacity: int
    lowest_hits: float
    highest_hits: float
    needed_rps: float
    monthly_usd: float | None
    separate_instances: int
    separate_usd: float | None

    @property
    def saving(self) -> float:
        """The share of the instances that an endpoint for each model has in addition."""
        return 1 - self.instances / self.separate_instances


def add_options(group: argparse._ArgumentGroup) -> None:
    """Add the options for many models."""
    add = group.add_argument
    add("--models", type=int, metavar="COUNT", help="number of models; without a load test")
    add("--traffic", default="zipf:1.0", metavar="zipf:EXPONENT", help="default: %(default)s")
    add("--rps", type=positive, help="requests per second to all models together")
    add("--model-mib", type=positive, default=400, help="memory of a model; default: %(default)s")
    hits = "minimum cache hit rate, with a model on one instance only; default: %(default)s"
    add("--hits", type=float, default=0.9, help=hits)
    add("--region", default="us-east-1", help="region of the prices; default: %(default)s")
    rates = "an instance type and its sustained rate; repeatable; default: measured rates of "
    rates += "MODEL, and every other type with a price without a rate"
    add("--instance", action="append", default=[], metavar="TYPE=RPS", help=rates)


def run(options: argparse.Namespace, models: Path) -> int:
    """Print an endpoint of each instance type, the cheapest first; return the exit code."""
    kind, _, exponent = options.traffic.partition(":")
    demand = Demand(
        models=options.models,
        exponent=float(exponent) if re.fullmatch(r"\d+(\.\d+)?", exponent) else -1,
        rps=options.rps or 0,
        model_mib=options.model_mib,
        hits=options.hits,
    )
    valid = kind == "zipf" and 0 <= demand.exponent <= 10 and 0 < demand.hits < 1
    if not valid or demand.models < 1 or not demand.rps:
        options.exit_with_error(
            "write --models 1 or more, --traffic zipf:EXPONENT, --rps, --hits below 1"
        )
    rates = _rates(options, models)
    plans = [plan_endpoint(demand, name, rates[name], options.region) for name in rates]
    endpoints = [endpoint for endpoint in plans if endpoint]
    if not endpoints:
        raise CommandError(f"no instance type has memory for a model of {demand.model_mib:g} MiB")
    endpoints.sort(key=lambda endpoint: (endpoint.monthly_usd is None, endpoint.monthly_usd))
    if options.json:
        text = json.dumps([asdict(endpoint) for endpoint in endpoints], indent=2)
        options.json.write_text(f"{text}\n")
    print(
        f"{demand.models:,} models of {demand.model_mib:g} MiB, {options.traffic}, "
        f"{demand.rps:g} requests per second: instances for {demand.hits:.0%} cache hits"
    )
    rows = [_row(endpoint, demand.rps, rates[endpoint.instance_type]) for endpoint in endpoints]
    for row in [HEADER, *rows]:
        print(f"{row[0]:16}" + "".join(f"{cell:>14}" for cell in row[1:]))
    prices = platform_facts.prices()
    print("\nassumptions:")
    for assumption in (*ASSUMPTIONS, f"prices of {prices.date}, on demand ({prices.source})"):
        print(f"- {assumption}")
    return 0


def plan_endpoint(
    demand: Demand, instance_type: str, max_rps: float | None, region: str
) -> SharedEndpoint | None:
    """Return the endpoint with the fewest instances for the rate and the hit rate.

    Return None if a model does not fit on an instance. Without a measured `max_rps`, the rate needs
    no more than `MIN_INSTANCES`.
    """
    memory = platform_facts.instance_type(instance_type).model_memory_gib * MIB_PER_GIB
    capacity = int(USABLE_MEMORY_SHARE * memory / demand.model_mib)
    if capacity < 1:
        return None
    shares = zipf(demand.models, demand.exponent)
    counts = range(1, math.ceil(demand.models / capacity) + 1)
    cached = bisect_left(counts, demand.hits, key=lambda count: hit_rate(shares, count * capacity))
    instances = max(counts[cached], _instances(demand.rps, max_rps))
    separate = sum(_instances(demand.rps * share, max_rps) for share in shares.tolist())
    hourly = platform_facts.prices().of(region, instance_type)
    return SharedEndpoint(
        instance_type=instance_type,
        instances=instances,
        capacity=capacity,
        lowest_hits=hit_rate(shares, capacity),
        highest_hits=hit_rate(shares, instances * capacity),
        needed_rps=demand.rps / instances / SCALING_TARGET_SHARE,
        monthly_usd=hourly and hourly * HOURS_PER_MONTH * instances,
        separate_instances=separate,
        separate_usd=hourly and hourly * HOURS_PER_MONTH * separate,
    )


def _instances(rps: float, max_rps: float | None) -> int:
    """Return the instances of an endpoint at a rate, if an instance sustains `max_rps`."""
    needed = math.ceil(rps / (SCALING_TARGET_SHARE * max_rps)) if max_rps else 0
    return max(MIN_INSTANCES, needed)


def _rates(options: argparse.Namespace, models: Path) -> dict[str, float | None]:
    """Return instance type -> sustained rate, None if it was not measured."""
    rates: dict[str, float | None] = {}
    for argument in options.instance:
        name, _, rate = argument.partition("=")
        try:
            platform_facts.instance_type(name)
            rates[name] = positive(rate) if rate else None
        except (platform_facts.UnknownFact, argparse.ArgumentTypeError) as error:
            options.exit_with_error(f"--instance {argument}: {error}")
    if not rates:
        rates = dict.fromkeys(_candidate_types(options.region))
        for result in reversed(measurements(models, options.model) if options.model else []):
            rates[result.measured_on] = result.max_rps
    return rates


def _candidate_types(region: str) -> Iterator[str]:
    """Yield the instance types with a price that can host multi-model endpoints."""
    prices = platform_facts.prices().per_hour.get(region, {})
    for candidate in platform_facts.instance_types():
        if candidate.name in prices and candidate.multi_model is platform_facts.Support.YES:
            yield candidate.name


def _row(endpoint: SharedEndpoint, rps: float, max_rps: float | None) -> tuple[str, ...]:
    sustained = f"{max_rps:g}" if max_rps else "?"
    usd, separate_usd = (
        "no price" if monthly is None else f"{monthly:,.0f}"
        for monthly in (endpoint.monthly_usd, endpoint.separate_usd)
    )
    return (
        endpoint.instance_type,
        f"{endpoint.capacity}",
        f"{endpoint.instances}",
        f"{endpoint.lowest_hits:.0%} to {endpoint.highest_hits:.0%}",
        f"{rps * (1 - endpoint.highest_hits):,.0f} to {rps * (1 - endpoint.lowest_hits):,.0f}",
        f"{endpoint.needed_rps:.1f} of {sustained}",
        usd,
        f"{endpoint.separate_instances:,}",
        separate_usd,
        f"{endpoint.saving:.1%}",
    )
