"""`tritonsm size --models`: a table of fleets for many models, with the assumptions."""

import argparse
import json
import re
from dataclasses import asdict
from pathlib import Path

import platform_facts
from cli.errors import CommandError
from cli.load.arguments import positive
from cli.load.fleet import ASSUMPTIONS, Demand, FleetPlan, candidate_types, plan_fleet
from cli.load.measurements import measurements

HEADER = (
    *("type", "endpoints", "instances", "in memory", "hits", "loads/s", "rps each", "USD/month"),
    *("one each", "USD/month", "saved"),
)
"""The columns; the last three are of an endpoint for each model."""


def add_options(group: argparse._ArgumentGroup) -> None:
    """Add the options of the fleet."""
    add = group.add_argument
    add("--models", type=int, metavar="COUNT", help="number of models; without a load test")
    add("--traffic", default="zipf:1.0", metavar="zipf:EXPONENT", help="default: %(default)s")
    add("--rps", type=positive, help="requests per second to all models together")
    add("--model-mib", type=positive, default=400, help="memory of a model; default: %(default)s")
    add("--hits", type=float, default=0.9, help="minimum cache hit rate; default: %(default)s")
    add("--region", default="us-east-1", help="region of the prices; default: %(default)s")
    rates = "an instance type and its sustained rate; repeatable; default: measured rates of "
    rates += "MODEL, and every other type with a price without a rate"
    add("--instance", action="append", default=[], metavar="TYPE=RPS", help=rates)


def run(options: argparse.Namespace, models: Path) -> int:
    """Print the fleets, the cheapest first; return the exit code."""
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
    plans = [plan_fleet(demand, name, rates[name], options.region) for name in rates]
    fleets = [fleet for fleet in plans if fleet]
    if not fleets:
        raise CommandError(f"no instance type has memory for a model of {demand.model_mib:g} MiB")
    fleets.sort(key=lambda fleet: (fleet.monthly_usd is None, fleet.monthly_usd))
    if options.json:
        options.json.write_text(json.dumps([asdict(fleet) for fleet in fleets], indent=2) + "\n")
    print(
        f"{demand.models:,} models of {demand.model_mib:g} MiB, {options.traffic}, "
        f"{demand.rps:g} requests per second, {demand.hits:.0%} of them with their model in memory"
    )
    for row in [HEADER, *(_row(fleet, rates[fleet.instance_type]) for fleet in fleets)]:
        print(f"{row[0]:16}" + "".join(f"{cell:>13}" for cell in row[1:]))
    prices = platform_facts.prices()
    print("\nassumptions:")
    for assumption in (*ASSUMPTIONS, f"prices of {prices.date}, on demand ({prices.source})"):
        print(f"- {assumption}")
    return 0


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
        rates = dict.fromkeys(candidate_types(options.region))
        for result in reversed(measurements(models, options.model) if options.model else []):
            rates[result.measured_on] = result.max_rps
    return rates


def _row(fleet: FleetPlan, max_rps: float | None) -> tuple[str, ...]:
    needed = f"{fleet.needed_rps:.1f} of {max_rps:g}" if max_rps else f"{fleet.needed_rps:.1f} of ?"
    hits = f"{fleet.lowest_hits:.0%} to {fleet.highest_hits:.0%}"
    usd, separate_usd = (
        "no price" if monthly is None else f"{monthly:,.0f}"
        for monthly in (fleet.monthly_usd, fleet.separate_usd)
    )
    counts = (fleet.endpoints, fleet.instances, fleet.capacity)
    loads = f"{fleet.loads_per_second:.1f}"
    separate = (f"{fleet.separate_instances:,}", separate_usd, f"{fleet.saving:.0%}")
    return (fleet.instance_type, *map(str, counts), hits, loads, needed, usd, *separate)
