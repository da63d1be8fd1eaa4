"""The fields of a stage's YAML file that its CloudFormation templates do not contain."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field


class StageFile(BaseModel):
    """The fields that deliveries and reviews read; the CDK app checks the whole file.

    `existing` has the IDs of resources that the stage does not create. `max_monthly_usd` limits the
    monthly cost of the stage's instances, None for no limit.
    """

    model_config = ConfigDict(strict=True, extra="ignore", frozen=True)

    region: Annotated[str, Field(min_length=1)]
    production: bool = False
    account: Annotated[str, Field(strict=False, coerce_numbers_to_str=True)] | None = None
    max_monthly_usd: float | None = None
    existing: dict[str, Any] = {}
