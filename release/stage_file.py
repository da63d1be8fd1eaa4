"""The fields of a stage's YAML file that its CloudFormation templates do not contain."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field


class StageFile(BaseModel):
    """Region, account and budget of a stage; the app checks all other fields.

    `max_monthly_usd` limits the monthly cost of its instances, None for no limit.
    """

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    region: Annotated[str, Field(min_length=1)]
    production: bool = False
    account: Annotated[str, Field(strict=False, coerce_numbers_to_str=True)] | None = None
    max_monthly_usd: float | None = None
