"""How long the parts of a delivery may take: what the app has summed up for its stage."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Self

PLAN = "plan.json"
"""The file of a cloud assembly in which the app writes it."""


@dataclass(frozen=True)
class TimeBudget:
    """In minutes: `rows` are the parts, `build_minutes` is for how long builds may wait."""

    rows: dict[str, int]
    build_minutes: int

    @classmethod
    def read(cls, assembly: Path) -> Self | None:
        """Return that of an assembly; None where its commit is from before there was one."""
        path = assembly / PLAN
        return cls(**json.loads(path.read_text())["time_budget"]) if path.is_file() else None

    def lines(self) -> list[str]:
        """Return a table, one line a part, and the sum."""
        rows = {**self.rows, "at most, all together": sum(self.rows.values())}
        return [f"{minutes:5} min  {what}" for what, minutes in rows.items()]
