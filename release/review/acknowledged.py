"""Dangers that somebody has acknowledged, until a day: `release/acknowledged.yaml`."""

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

import checked_yaml

LONGEST = timedelta(days=366)
"""From the day of a review: nobody remembers for longer why it was fine. Our choice."""


class Acknowledgement(BaseModel):
    """One line of the file. `danger` is STAGE/RULE/SUBJECT, as a review prints it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    danger: Annotated[str, Field(pattern=r"^[^/]+/[a-z_]+/.+$")]
    who: Annotated[str, Field(min_length=1)]
    why: Annotated[str, Field(min_length=1)]
    until: date

    @property
    def stage(self) -> str:
        """The stage of the danger, `repository` for one of files."""
        return self.danger.partition("/")[0]


class Acknowledgements(BaseModel):
    """The file."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    acknowledged: list[Acknowledgement] = []

    def of(self, key: str, today: date) -> Acknowledgement | None:
        """Return who acknowledged the danger of a key, None where nobody did, or no longer."""
        lines = (line for line in self.acknowledged if line.danger == key and line.until >= today)
        return next(lines, None)


def read(root: Path, today: date) -> Acknowledgements:
    """Read a tree's file, if there is one. Raises `checked_yaml.InvalidFile`."""
    path = root / "release" / "acknowledged.yaml"
    if not path.is_file():
        return Acknowledgements()
    content = checked_yaml.load(path, Acknowledgements)
    if problems := list(_too_late(path, content, today + LONGEST)):
        raise checked_yaml.InvalidFile(problems)
    return content


def _too_late(path: Path, content: Acknowledgements, last: date) -> Iterator[checked_yaml.Problem]:
    for number, line in enumerate(content.acknowledged):
        if line.until > last:
            yield checked_yaml.Problem(
                path,
                checked_yaml.line_of(path, "acknowledged", number, "until"),
                f"acknowledged.{number}.until",
                f"{line.until} is more than a year away: write {last} or earlier",
            )
