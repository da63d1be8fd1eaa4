"""Data capture of an endpoint."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from platform_facts.rules import monitoring, ranges
from platform_facts.rules.ranges import MAX_INTEGER
from stages.schema.section import Section, raise_problems, range_field


class DataCaptureConfig(Section):
    """Capture of requests and responses to S3."""

    percent: Annotated[int, range_field(ranges.CAPTURED_PERCENT)] = 100
    """Percentage of recorded requests; SageMaker may record fewer under high load."""
    requests: bool = True
    """Record the requests."""
    responses: bool = True
    """Record the responses."""
    keep_days: Annotated[int, Field(ge=1, le=MAX_INTEGER)] = 30
    """Days after which a record is deleted."""

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        raise_problems(monitoring.check_captured_content(self.requests, self.responses), depth=1)
        return self
