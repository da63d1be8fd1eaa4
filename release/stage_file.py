"""The little of a stage's YAML that is not in its templates."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

import checked_yaml


class _Keys(BaseModel):
    """The keys that are read here; the app checks everything else in the file."""

    model_config = ConfigDict(strict=True, extra="ignore")

    region: Annotated[str, Field(min_length=1)]
    production: bool = False
    account: Annotated[str, Field(strict=False, coerce_numbers_to_str=True)] | None = None
    max_monthly_usd: float | None = None


@dataclass(frozen=True)
class StageFile:
    """Where a stage is, and what is allowed to it.

    `max_monthly_usd` is what its instances may cost a month, None where nothing limits it.
    """

    region: str
    production: bool
    account: str | None = None
    max_monthly_usd: float | None = None


def parse_stage(path: Path, content: bytes) -> StageFile:
    """Return the content of a stage's file. Raises `checked_yaml.InvalidFile`."""
    return StageFile(**checked_yaml.parse(path, content, _Keys).model_dump())
