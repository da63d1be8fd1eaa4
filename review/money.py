"""The monthly cost of an endpoint's instances."""

from collections.abc import Iterable, Iterator, Sequence
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
    missing_prices: one message for each instance type without a price; then both amounts are None.
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
        """The instance types without a price, with the reason."""
        costs = [cost for cost in (self.before, self.after) if cost]
        return [message for cost in costs for message in cost.missing_prices]


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

    def __str__(self) -> str:
        """Return the sum; if a price is missing, `more than` the sum of the known prices."""
        if self.complete:
            return f"{self.usd:,.0f}"
        return f"more than {self.usd:,.0f}" if self.usd else "no price"


def endpoint_cost(endpoint: PlannedEndpoint, region: str) -> Cost:
    """Return the cost of an endpoint's instances in a region."""
    prices = platform_facts.prices()
    variants = endpoint.settings.variants.values()
    types = {name for variant in variants for name in variant.instance_types}
    hourly_prices = {name: prices.of(region, name) for name in types}
    reason = f"the price table of {prices.date} does not contain it"
    if region not in prices.per_hour:
        reason = f"the price table only has {', '.join(sorted(prices.per_hour))}"
    missing_prices = tuple(
        f"{name} in {region} has no price: {reason}"
        for name, price in sorted(hourly_prices.items())
        if price is None
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


def total_change(costs: Sequence[CostChange], amount: str) -> str:
    """Return the sums of `amount` before and after, and their difference."""
    before = total((cost.before for cost in costs), amount)
    after = total((cost.after for cost in costs), amount)
    if before == after:
        return str(after)
    change = f" ({after.usd - before.usd:+,.0f})" if before.complete and after.complete else ""
    return f"{before} → {after}{change}"


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
            yield VolumeCharge("builds", model.model)
            yield VolumeCharge("the table of models", model.model)


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
