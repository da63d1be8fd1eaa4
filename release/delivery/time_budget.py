"""The maximum duration of each part of a delivery, from the plan of the stage."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from release.plan import plan


@dataclass(frozen=True)
class DeliveryTimeBudget:
    """Maximum minutes of each part in `rows`, and of a build's wait in `build_minutes`."""

    rows: dict[str, int]
    build_minutes: int

    @classmethod
    def read(cls, assembly: Path) -> Self:
        """Return the time budget in an assembly."""
        return cls(**plan(assembly)["time_budget"])

    def lines(self) -> list[str]:
        """Return a line for each part, and one for the sum."""
        rows = {**self.rows, "at most, all together": sum(self.rows.values())}
        return [f"{minutes:5} min  {part}" for part, minutes in rows.items()]
