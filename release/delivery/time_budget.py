"""How long the parts of a delivery may take: what the app has summed up for its stage."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from release.plan import plan


@dataclass(frozen=True)
class DeliveryTimeBudget:
    """In minutes: `rows` are the parts, `build_minutes` is for how long builds may wait."""

    rows: dict[str, int]
    build_minutes: int

    @classmethod
    def read(cls, assembly: Path) -> Self:
        """Return that of an assembly."""
        return cls(**plan(assembly)["time_budget"])

    def lines(self) -> list[str]:
        """Return a table, one line a part, and the sum."""
        rows = {**self.rows, "at most, all together": sum(self.rows.values())}
        return [f"{minutes:5} min  {what}" for what, minutes in rows.items()]
