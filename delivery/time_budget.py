"""The maximum duration of each step of a delivery, from the plan of the stage."""

from dataclasses import dataclass
from pathlib import Path
from typing import Self

from release.plan import plan


@dataclass(frozen=True)
class DeliveryTimeBudget:
    """Maximum minutes of each step (`rows`), and of the wait for engines (`build_minutes`)."""

    rows: dict[str, int]
    build_minutes: int

    @classmethod
    def read(cls, assembly: Path) -> Self:
        """Return the time budget in an assembly."""
        return cls(**plan(assembly)["time_budget"])

    def lines(self) -> list[str]:
        """Return a line for each step, and a line for the sum."""
        rows = {**self.rows, "maximum in total": sum(self.rows.values())}
        return [f"{minutes:5} min  {step}" for step, minutes in rows.items()]
