"""The monthly cost of an endpoint's instances."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import platform_facts
from release.review.comparison import Comparison
from release.review.endpoints import DeclaredEndpoint

HOURS = 730
"""Hours of a month."""


@dataclass(frozen=True, kw_only=True)
class Cost:
    """USD a month for the on-demand instances of an endpoint.

    `minimum` is the cost at the mean minimum of scaling over a week with the cheapest instance type
    of each variant, `maximum` at the mean maximum with the most expensive one. If an instance type
    has no price, both are None and `unknown` says why.
    """

    minimum: float | None
    maximum: float | None
    unknown: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CostChange:
    """The cost of an endpoint before and after, None if the endpoint does not exist then.

    An endpoint that `runs_on` has left the app, and costs until somebody deletes it.
    """

    endpoint: str
    before: Cost | None
    after: Cost | None
    runs_on: bool = False

    @property
    def unknown(self) -> list[str]:
        """Each instance type without a price, before or after, with the reason."""
        return [name for cost in (self.before, self.after) if cost for name in cost.unknown]


@dataclass(frozen=True)
class Total:
    """A sum in USD; `complete` tells whether every part of it has a price."""

    usd: float
    complete: bool

    def __str__(self) -> str:
        """Return the sum, or a lower bound if it is not complete."""
        if self.complete:
            return f"{self.usd:,.0f}"
        return f"more than {self.usd:,.0f}" if self.usd else "no price"


def cost_of(endpoint: DeclaredEndpoint, region: str) -> Cost:
    """Return the cost of an endpoint's instances in a region."""
    prices = platform_facts.prices()
    variants = [*endpoint.variants.values(), *endpoint.shadows.values()]
    hourly = {
        kind: prices.of(region, kind) for variant in variants for kind in variant.instance_types
    }
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
    rates = [
        ([hourly[kind] or 0 for kind in variant.instance_types], variant) for variant in variants
    ]
    return Cost(
        minimum=HOURS * sum(min(rate) * variant.mean_minimum for rate, variant in rates),
        maximum=HOURS * sum(max(rate) * variant.mean_maximum for rate, variant in rates),
    )


def cost_changes(comparison: Comparison) -> Iterator[CostChange]:
    """Yield the cost of each endpoint before and after.

    An endpoint that leaves the app, or whose stage moves, runs until somebody deletes it.
    """
    was, will_be = comparison.was.region, comparison.will_be.region
    for stack, pair in comparison.endpoints.items():
        before = cost_of(pair.before, was) if pair.before else None
        after = cost_of(pair.after, will_be) if pair.after else None
        name = f"{pair.name}, where it was" if comparison.moves else pair.name
        if before and (comparison.moves or stack not in comparison.after):
            yield CostChange(endpoint=name, before=before, after=before, runs_on=True)
            before = None
        if before or after:
            yield CostChange(endpoint=pair.name, before=before, after=after)


def total(costs: Iterable[Cost | None], amount: str) -> Total:
    """Return the sum of an amount, such as `maximum`, of all endpoints."""
    values = [getattr(cost, amount) for cost in costs if cost]
    known = [value for value in values if value is not None]
    return Total(sum(known), len(known) == len(values))


def total_change(costs: Sequence[CostChange], amount: str) -> str:
    """Return the sums of an amount before and after, and their difference."""
    before = total((cost.before for cost in costs), amount)
    after = total((cost.after for cost in costs), amount)
    if before == after:
        return str(after)
    change = f" ({after.usd - before.usd:+,.0f})" if before.complete and after.complete else ""
    return f"{before} → {after}{change}"
