"""What a change costs, as the rows of a table."""

from collections.abc import Sequence
from dataclasses import dataclass

import platform_facts
from release.review.money import CostChange, Total, total


@dataclass(frozen=True)
class CostRow:
    """USD a month of an endpoint, as text: at the minimum and the maximum of its instances."""

    endpoint: str
    least: str
    most: str


def cost_rows(costs: Sequence[CostChange]) -> list[CostRow]:
    """Return a row for each endpoint, and one for all together where that is more than one."""
    rows = [_row(_name(cost), [cost]) for cost in costs]
    return [_row("together", costs), *rows] if len(rows) > 1 else rows


def prices(costs: Sequence[CostChange]) -> str:
    """Return where prices are from, and what has none."""
    table = platform_facts.prices()
    sides = [side for cost in costs for side in (cost.before, cost.after) if side]
    unknown = sorted({name for side in sides for name in side.unknown})
    missing = f" Not priced: {'; '.join(unknown)}." if unknown else ""
    return (
        f"USD a month for instances on demand, by prices of {table.date} ({table.source}). "
        f"Requests, storage and builds are not in it.{missing}"
    )


def _name(cost: CostChange) -> str:
    return f"{cost.endpoint} (runs on until it is deleted)" if cost.runs_on else cost.endpoint


def _row(name: str, costs: Sequence[CostChange]) -> CostRow:
    least, most = (
        _arrow(
            total((cost.before for cost in costs), amount),
            total((cost.after for cost in costs), amount),
        )
        for amount in ("minimum", "maximum")
    )
    return CostRow(name, least, most)


def _arrow(before: Total, after: Total) -> str:
    if before == after:
        return _amount(after)
    change = f" ({after.usd - before.usd:+,.0f})" if before.complete and after.complete else ""
    return f"{_amount(before)} → {_amount(after)}{change}"


def _amount(amount: Total) -> str:
    """Return an amount; of one that is not complete, no number that reads as all of it."""
    if amount.complete:
        return f"{amount.usd:,.0f}"
    return f"more than {amount.usd:,.0f}" if amount.usd else "no price"
