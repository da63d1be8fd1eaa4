"""The monthly cost of an endpoint's instances."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import platform_facts
from plan.document import PlannedEndpoint
from platform_facts import HOURS_PER_MONTH
from review.comparison import Comparison
from review.model_changes import ModelChange


@dataclass(frozen=True, kw_only=True)
class Cost:
    """USD a month for the on-demand instances of an endpoint.

    minimum: cost of the lowest number of instances, on the cheapest instance types.
    maximum: cost of the highest number of instances, on the most expensive instance types.
    missing_prices: instance types without a price, TYPE in REGION; then both amounts are None.
    """

    minimum: float | None
    maximum: float | None
    missing_prices: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CostChange:
    """The cost of an endpoint before and after a change; None if there is no endpoint.

    keeps_running: the endpoint was removed from the app, but runs until it is deleted.
    """

    endpoint: str
    before: Cost | None
    after: Cost | None
    keeps_running: bool = False

    @property
    def missing_prices(self) -> list[str]:
        """The instance types without a price."""
        costs = [cost for cost in (self.before, self.after) if cost]
        return [name for cost in costs for name in cost.missing_prices]

    @property
    def text(self) -> str:
        """Both amounts, before and after; empty if no price is known."""
        if self.missing_prices:
            return ""
        least, most = _amounts(self, "minimum"), _amounts(self, "maximum")
        amounts = least if least == most else f"at least {least}, at most {most}"
        runs = "runs until it is deleted: " if self.keeps_running else ""
        return f"{runs}{amounts} USD a month"


@dataclass(frozen=True)
class VolumeCharge:
    """A charge by volume that a change adds, with the endpoint or the model that causes it."""

    charge: str
    cause: str


@dataclass(frozen=True)
class Total:
    """A sum in USD; it is `complete` if all instance types have a price."""

    usd: float
    complete: bool


def endpoint_cost(endpoint: PlannedEndpoint, region: str) -> Cost:
    """Return the cost of an endpoint's instances in a region."""
    prices = platform_facts.prices()
    variants = endpoint.settings.variants.values()
    types = {name for variant in variants for name in variant.instance_types}
    hourly_prices = {name: prices.of(region, name) for name in types}
    missing_prices = tuple(
        f"{name} in {region}" for name, price in sorted(hourly_prices.items()) if price is None
    )
    if missing_prices:
        return Cost(minimum=None, maximum=None, missing_prices=missing_prices)
    minimum = maximum = 0.0
    for variant in variants:
        variant_prices = [hourly_prices[name] or 0 for name in variant.instance_types]
        minimum += min(variant_prices) * variant.instances.minimum
        maximum += max(variant_prices) * variant.instances.maximum
    return Cost(minimum=HOURS_PER_MONTH * minimum, maximum=HOURS_PER_MONTH * maximum)


def cost_changes(comparison: Comparison) -> Iterator[CostChange]:
    """Yield the cost of each endpoint before and after.

    An endpoint that is removed from the app, or whose stage moves to another region or account,
    runs until it is deleted.
    """
    old_region, new_region = (plan.region for plan in comparison.plans)
    for stack, pair in comparison.endpoints.items():
        before = endpoint_cost(pair.before, old_region) if pair.before else None
        after = endpoint_cost(pair.after, new_region) if pair.after else None
        name = f"{pair.name} in {old_region}" if comparison.is_moved else pair.name
        if before and (comparison.is_moved or stack not in comparison.after):
            yield CostChange(endpoint=name, before=before, after=before, keeps_running=True)
            before = None
        if before or after:
            yield CostChange(endpoint=pair.name, before=before, after=after)


def total(costs: Iterable[Cost | None], amount: str) -> Total:
    """Return the sum of the attribute `amount`, such as `maximum`, over all endpoints."""
    amounts = [getattr(cost, amount) for cost in costs if cost]
    known_amounts = [usd for usd in amounts if usd is not None]
    return Total(sum(known_amounts), len(known_amounts) == len(amounts))


def _amounts(cost: CostChange, amount: str) -> str:
    before, after = (round(getattr(side, amount)) if side else 0
                     for side in (cost.before, cost.after))  # fmt: skip
    change = f" → {after:,} ({after - before:+,})" if before != after else ""
    return f"{before:,}{change}"


ROUTINE_CHARGES = ("builds", "the table of models")
"""Charges by volume of every changed model."""


def volume_charges(comparison: Comparison, models: Iterable[ModelChange]) -> Iterator[VolumeCharge]:
    """Yield what a change newly lets AWS charge by volume; `models` are the changes of models."""
    for pair in comparison.endpoints.values():
        if pair.after:
            before, after = (_volume_settings(side) for side in (pair.before, pair.after))
            for charge, setting in after.items():
                if setting and setting != before.get(charge):
                    yield VolumeCharge(charge, pair.name)
    for model in models:
        if model.is_built:
            yield from (VolumeCharge(charge, model.model) for charge in ROUTINE_CHARGES)


def _volume_settings(endpoint: PlannedEndpoint | None) -> dict[str, object]:
    """Return the settings of an endpoint that cause charges by volume."""
    if endpoint is None:
        return {}
    settings = endpoint.settings
    return {
        "data capture": settings.settings.get("data_capture"),
        "detailed observability": settings.settings.get("detailed_observability"),
        "custom metrics": settings.metrics_namespace,
        "logs": settings.name,
    }
