"""What an endpoint's instances cost a month."""

from collections.abc import Iterable, Iterator, Sequence
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
    week, and at the cheapest and the dearest of a variant's instance types. `unknown` has each
    instance type without a price, and why; then both amounts are None.
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

    @property
    def unknown(self) -> list[str]:
        """Each instance type without a price, before or after, and why."""
        return [name for cost in (self.before, self.after) if cost for name in cost.unknown]


@dataclass(frozen=True)
class Total:
    """USD of all that has a price, and whether that is all there is."""

    usd: float
    complete: bool

    def __str__(self) -> str:
        """Of one that is not complete, no number reads as all of it."""
        if self.complete:
            return f"{self.usd:,.0f}"
        return f"more than {self.usd:,.0f}" if self.usd else "no price"


def cost_of(endpoint: DeclaredEndpoint, region: str) -> Cost:
    """Return what an endpoint's instances cost in a region."""
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
    """Yield what each endpoint costs before and after.

    What leaves the app, or stays where its stage was, runs until somebody deletes it.
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
    """Return the sum of one amount, such as `maximum`, of all endpoints."""
    values = [getattr(cost, amount) for cost in costs if cost]
    known = [value for value in values if value is not None]
    return Total(sum(known), len(known) == len(values))


def total_change(costs: Sequence[CostChange], amount: str) -> str:
    """Return the sum of one amount before and after, and the difference."""
    before = total((cost.before for cost in costs), amount)
    after = total((cost.after for cost in costs), amount)
    if before == after:
        return str(after)
    change = f" ({after.usd - before.usd:+,.0f})" if before.complete and after.complete else ""
    return f"{before} → {after}{change}"
