"""What an endpoint's instances cost a month."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from operator import attrgetter

import platform_facts
from release.review.comparison import Comparison
from release.review.endpoints import DeclaredEndpoint, DeclaredVariant

HOURS = 730
"""A month."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """USD a month for the instances of an endpoint, on demand.

    At the fewest and the most instances that scaling allows, and at those that it is created with.
    `as_single_model` is the fewest with an endpoint for each model. `unknown` names the instance
    types without a price; then every amount is None.
    """

    minimum: float | None
    initial: float | None
    maximum: float | None
    as_single_model: float | None
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CostChange:
    """The cost of one endpoint before and after; None where there is no such endpoint.

    One that `runs_on` is no longer in the app, and is paid for until somebody deletes it.
    """

    endpoint: str
    before: Cost | None
    after: Cost | None
    runs_on: bool = False


@dataclass(frozen=True)
class Total:
    """USD of all that has a price, and whether that is all there is."""

    usd: float
    complete: bool


def cost_of(endpoint: DeclaredEndpoint, region: str) -> Cost:
    """Return what an endpoint's instances cost in a region."""
    prices = platform_facts.prices()
    of = {it.instance_type: prices.of(region, it.instance_type) for it in _variants(endpoint)}
    unknown = tuple(sorted(f"{name} in {region}" for name, price in of.items() if price is None))
    if unknown:
        return Cost(minimum=None, initial=None, maximum=None, as_single_model=None, unknown=unknown)

    def a_month(instances: Callable[[DeclaredVariant], int]) -> float:
        hourly = sum((of[it.instance_type] or 0) * instances(it) for it in _variants(endpoint))
        return HOURS * hourly

    minimum = a_month(attrgetter("minimum"))
    models = (
        len(endpoint.models) if any(it.mode == "MultiModel" for it in _variants(endpoint)) else 1
    )
    return Cost(
        minimum=minimum,
        initial=a_month(attrgetter("initial")),
        maximum=a_month(attrgetter("maximum")),
        as_single_model=minimum * models,
    )


def cost_changes(comparison: Comparison) -> list[CostChange]:
    """Return what each endpoint costs before and after.

    What leaves the app, or stays where its stage was, runs until somebody deletes it.
    """
    was, will_be = comparison.was.region, comparison.will_be.region
    found = []
    for stack, it in comparison.endpoints.items():
        before = cost_of(it.before, was) if it.before else None
        after = cost_of(it.after, will_be) if it.after else None
        if before and comparison.moves:
            left = f"{it.name}, where it was"
            found.append(CostChange(endpoint=left, before=before, after=before, runs_on=True))
            before = None
        elif before and stack not in comparison.after:
            found.append(CostChange(endpoint=it.name, before=before, after=before, runs_on=True))
            continue
        if before or after:
            found.append(CostChange(endpoint=it.name, before=before, after=after))
    return found


def total(costs: Iterable[Cost | None], amount: str) -> Total:
    """Return the sum of one amount, such as `maximum`, of all endpoints."""
    values = [getattr(it, amount) for it in costs if it]
    known = [it for it in values if it is not None]
    return Total(sum(known), len(known) == len(values))


def _variants(endpoint: DeclaredEndpoint) -> list[DeclaredVariant]:
    return list(endpoint.variants.values())
