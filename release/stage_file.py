"""The little of a stage's YAML that is not in its templates."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class StageFile(BaseModel):
    """Where a stage is, and what is allowed to it; the app checks everything else in the file.

    `max_monthly_usd` is what its instances may cost a month, None where nothing limits it.
    """

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    region: Annotated[str, Field(min_length=1)]
    production: bool = False
    account: Annotated[str, Field(strict=False, coerce_numbers_to_str=True)] | None = None
    max_monthly_usd: float | None = None
