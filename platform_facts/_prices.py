from dataclasses import dataclass, field
from datetime import date
from functools import cache
from typing import Any

from platform_facts._tables import read_table

HOURS_PER_MONTH = 730
"""Average hours of a month."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Prices:
    """On-demand prices of real-time inference on one day. Source: prices.toml.

    `per_hour` is region -> instance type -> USD per instance and hour. Missing prices are unknown.
    `by_volume` is charge -> text with unit price, date, and what decides the amount.
    """

    date: date
    source: str
    per_hour: dict[str, dict[str, float]]
    by_volume: dict[str, str] = field(default_factory=dict)

    def of(self, region: str, instance_type: str) -> float | None:
        """Return the price in USD per instance and hour, None if it is unknown."""
        return self.per_hour.get(region, {}).get(instance_type)


@cache
def prices() -> Prices:
    """Return the price table."""
    table = dict(read_table("prices.toml"))
    by_volume = {row["charge"]: _volume_text(row) for row in table.pop("volume")}
    return Prices(
        date=table.pop("date"), source=table.pop("source"), per_hour=table, by_volume=by_volume
    )


def _volume_text(row: dict[str, Any]) -> str:
    dated = f"{row['price']} in us-east-1 ({row['date']}); " if "price" in row else ""
    return f"{dated}unknown: {row['unknown']}"
