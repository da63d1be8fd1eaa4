"""Dangers that a person has acknowledged, with an expiry date: `release/acknowledged.yaml`."""

from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

import checked_yaml


class Acknowledgement(BaseModel):
    """An entry of the file. `danger` is STAGE/RULE/SUBJECT, as in the report."""

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
        """Return the acknowledgement of a danger, None if there is none or it has expired."""
        lines = (line for line in self.acknowledged if line.danger == key and line.until >= today)
        return next(lines, None)


def read(root: Path) -> Acknowledgements:
    """Return the acknowledgements in a tree. Raise `checked_yaml.InvalidFile`."""
    path = root / "release" / "acknowledged.yaml"
    return checked_yaml.load(path, Acknowledgements) if path.is_file() else Acknowledgements()
