from dataclasses import dataclass
from datetime import date
from functools import cache

from platform_facts._tables import read_table

HOURS_PER_MONTH = 730
"""Average hours of a month."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """On-demand prices of real-time inference on one day. Source: prices.toml.

    `per_hour` is region -> instance type -> USD per instance and hour. Missing prices are unknown.
    """

    date: date
    source: str
    per_hour: dict[str, dict[str, float]]

    def of(self, region: str, instance_type: str) -> float | None:
        """Return the price in USD per instance and hour, None if it is unknown."""
        return self.per_hour.get(region, {}).get(instance_type)


@cache
def prices() -> Prices:
    """Return the price table."""
    table = dict(read_table("prices.toml"))
    return Prices(date=table.pop("date"), source=table.pop("source"), per_hour=table)
