"""What an endpoint records of its requests."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from stages.schema.part import MAX_INTEGER, Part


class DataCaptureConfig(Part):
    """Which requests and responses are recorded, and for how long they are kept."""

    percent: Annotated[int, Field(ge=1, le=100)] = 100
    """Share of the requests; fewer where there are many."""
    requests: bool = True
    """Record what was asked."""
    responses: bool = True
    """Record what was answered."""
    keep_days: Annotated[int, Field(ge=1, le=MAX_INTEGER)] = 30
    """Days after which a record is deleted."""

    @model_validator(mode="after")
    def _records_something(self) -> Self:
        if not (self.requests or self.responses):
            raise ValueError("neither requests nor responses are recorded: write one as true")
        return self
