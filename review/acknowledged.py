"""Acknowledgements of dangers, with an expiry date: `review/acknowledged.yaml`."""

from datetime import date
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from platform_facts.rules import checked_yaml


class Acknowledgement(BaseModel):
    """The acknowledgement of a danger, an entry of the file.

    danger: key STAGE/RULE/SUBJECT from the report.
    who: person who accepts the danger.
    until: last day on which the acknowledgement is valid.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    danger: Annotated[str, Field(pattern=r"^[^/]+/[a-z_]+/.+$")]
    who: Annotated[str, Field(min_length=1)]
    why: Annotated[str, Field(min_length=1)]
    until: date


class Acknowledgements(BaseModel):
    """All entries of the file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    acknowledged: list[Acknowledgement] = []

    def find(self, key: str, today: date) -> Acknowledgement | None:
        """Return the valid acknowledgement of the danger with a key, None if there is none."""
        entries = (entry for entry in self.acknowledged if entry.danger == key)
        return next((entry for entry in entries if entry.until >= today), None)


def read_acknowledgements(root: Path) -> Acknowledgements:
    """Return the acknowledgements in a tree. Raise `checked_yaml.InvalidFile`."""
    path = root / "review" / "acknowledged.yaml"
    return checked_yaml.load(path, Acknowledgements) if path.is_file() else Acknowledgements()
