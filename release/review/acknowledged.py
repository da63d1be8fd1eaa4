"""Dangers that somebody has acknowledged, until a day: `release/acknowledged.yaml`."""

from collections.abc import Callable, Iterable
from datetime import date, timedelta
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

import checked_yaml
from release.review.dangers import Danger

LONGEST = timedelta(days=366)
"""From the day of a review: nobody remembers for longer why it was fine. Our choice."""


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

    def of(self, danger: Danger, today: date) -> Acknowledgement | None:
        """Return who acknowledged a danger, None where nobody did, or no longer."""
        for it in self.acknowledged:
            if it.danger == danger.key and it.until >= today:
                return it
        return None

    def without_danger(
        self, found: Iterable[Danger], asked: Callable[[str], bool]
    ) -> tuple[Acknowledgement, ...]:
        """Return those of no danger that was found, of the stages that were `asked`."""
        keys = {it.key for it in found}
        return tuple(
            it
            for it in self.acknowledged
            if it.danger not in keys and asked(it.danger.partition("/")[0])
        )


def read(root: Path, today: date) -> Acknowledgements:
    """Read a tree's file, if there is one. Raises `checked_yaml.InvalidFile`."""
    path = root / "release" / "acknowledged.yaml"
    if not path.is_file():
        return Acknowledgements()
    found = checked_yaml.load(path, Acknowledgements)
    last = today + LONGEST
    late = [
        checked_yaml.Problem(
            path,
            checked_yaml.line_of(path, "acknowledged", number, "until"),
            f"acknowledged.{number}.until",
            f"{it.until} is more than a year away: write {last} or earlier",
        )
        for number, it in enumerate(found.acknowledged)
        if it.until > last
    ]
    if late:
        raise checked_yaml.InvalidFile(late)
    return found
