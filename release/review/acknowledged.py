"""Dangers that somebody has acknowledged, until a day: `release/acknowledged.yaml`."""

from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

import checked_yaml


class Acknowledgement(BaseModel):
    """One line of the file. `danger` is STAGE/RULE/SUBJECT, as a review prints it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    danger: Annotated[str, Field(pattern=r"^[^/]+/[a-z_]+/.+$")]
    who: Annotated[str, Field(min_length=1)]
    why: Annotated[str, Field(min_length=1)]
    until: date


class Acknowledgements(BaseModel):
    """The file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    acknowledged: list[Acknowledgement] = []

    def of(self, key: str, today: date) -> Acknowledgement | None:
        """Return who acknowledged the danger of a key, None where nobody did, or no longer."""
        lines = (line for line in self.acknowledged if line.danger == key and line.until >= today)
        return next(lines, None)


def read(root: Path) -> Acknowledgements:
    """Read a tree's file, if there is one. Raises `checked_yaml.InvalidFile`."""
    path = root / "release" / "acknowledged.yaml"
    return checked_yaml.load(path, Acknowledgements) if path.is_file() else Acknowledgements()
