"""What an endpoint's instances cost a month."""

from collections.abc import Callable
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
    """The cost of one endpoint before and after; None where there is no such endpoint."""

    endpoint: str
    before: Cost | None
    after: Cost | None


def cost_of(endpoint: DeclaredEndpoint, region: str) -> Cost:
    """Return what an endpoint's instances cost in a region."""
    prices = platform_facts.prices()
    of = {it.instance_type: prices.of(region, it.instance_type) for it in _variants(endpoint)}
    unknown = tuple(sorted(name for name, price in of.items() if price is None))
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


def cost_changes(comparison: Comparison, before: str, after: str) -> list[CostChange]:
    """Return what each endpoint costs, in the regions `before` and `after` the change."""
    return [
        CostChange(
            endpoint=it.name,
            before=cost_of(it.before, before) if it.before else None,
            after=cost_of(it.after, after) if it.after else None,
        )
        for it in comparison.endpoints.values()
    ]


def _variants(endpoint: DeclaredEndpoint) -> list[DeclaredVariant]:
    return list(endpoint.variants.values())
