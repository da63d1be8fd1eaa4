"""How long the parts of a delivery may take: what the app has summed up for its stage."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Self

METADATA = "triton:time-budget"
"""The kind of metadata in which the app writes it, at the stack of models."""


@dataclass(frozen=True)
class TimeBudget:
    """In minutes: `rows` are the parts, `build_minutes` is for how long builds may wait."""

    rows: dict[str, int]
    build_minutes: int

    @classmethod
    def read(cls, assembly: Path, models: str) -> Self | None:
        """Return that of an assembly; None where its commit is from before there was one.

        `models` is the stack of models.
        """
        path = assembly / f"{models}.metadata.json"
        if not path.is_file():
            return None
        for entry in json.loads(path.read_text()).get(f"/{models}", ()):
            if entry["type"] == METADATA:
                rows = {it["what"]: it["minutes"] for it in entry["data"]["rows"]}
                return cls(rows, entry["data"]["builds"])
        return None

    def lines(self) -> list[str]:
        """Return a table, one line a part, and the sum."""
        rows = {**self.rows, "at most, all together": sum(self.rows.values())}
        return [f"{minutes:5} min  {what}" for what, minutes in rows.items()]
