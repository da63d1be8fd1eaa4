"""What an endpoint's instances cost a month."""

from collections.abc import Iterable
from dataclasses import dataclass

import platform_facts
from release.review.comparison import Comparison
from release.review.endpoints import DeclaredEndpoint

HOURS = 730
"""A month."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """USD a month for the instances of an endpoint, on demand.

    At the fewest and the most instances that scaling allows, as its schedules have them over a
    week. `unknown` has each instance type without a price, and why; then both amounts are None.
    """

    minimum: float | None
    maximum: float | None
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
    variants = [*endpoint.variants.values(), *endpoint.shadows.values()]
    hourly = {it.instance_type: prices.of(region, it.instance_type) for it in variants}
    known = ", ".join(sorted(prices.per_hour))
    why = f"it is not in the table of {prices.date}"
    if region not in prices.per_hour:
        why = f"the table has prices of {known} alone"
    unknown = tuple(
        f"{name} in {region} has no price: {why}"
        for name, price in sorted(hourly.items())
        if price is None
    )
    if unknown:
        return Cost(minimum=None, maximum=None, unknown=unknown)
    return Cost(
        minimum=HOURS * sum((hourly[it.instance_type] or 0) * it.mean_minimum for it in variants),
        maximum=HOURS * sum((hourly[it.instance_type] or 0) * it.mean_maximum for it in variants),
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
