"""The little of a stage's YAML that is not in its templates."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, Field

import checked_yaml


class _Keys(BaseModel):
    """The keys that are read; the app checks all others."""

    region: Annotated[str, Field(min_length=1)]
    production: bool | None = None
    account: Annotated[str, Field(coerce_numbers_to_str=True)] | None = None
    max_monthly_usd: Annotated[float, Field(strict=True)] | None = None


@dataclass(frozen=True)
class StageFile:
    """Where a stage is, and what is allowed to it.

    `max_monthly_usd` is what its instances may cost a month, None where the stage has no limit.
    """

    region: str
    production: bool
    account: str | None = None
    max_monthly_usd: float | None = None

    @classmethod
    def of(cls, path: Path, content: bytes) -> Self:
        """Read a file's bytes. Raises `checked_yaml.InvalidFile`."""
        keys = checked_yaml.parse(path, content, _Keys)
        return cls(keys.region, bool(keys.production), keys.account, keys.max_monthly_usd)
