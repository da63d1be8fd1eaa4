"""What is asked about."""

from collections.abc import Sequence
from dataclasses import dataclass

from cli.names import stage_of


@dataclass(frozen=True)
class Scope:
    """One stage of several, or everything where it is None."""

    stage: str | None
    stages: Sequence[str] = ()

    @property
    def prefix(self) -> str:
        """Return how the names of everything in it begin."""
        return f"{self.stage}-" if self.stage else ""

    def has(self, name: str) -> bool:
        """Say whether something of this name is in it."""
        return self.stage is None or stage_of(name, self.stages) == self.stage
