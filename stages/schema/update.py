"""Update strategy of an endpoint."""

from typing import Annotated, Literal

from pydantic import Field, FiniteFloat

from platform_facts.rules import ranges
from platform_facts.rules.updates import UpdateTimes
from stages.schema.section import Section, range_field


class UpdateConfig(Section):
    """Strategy, step size and rollback threshold of an endpoint update."""

    strategy: Literal["all-at-once", "canary", "linear", "rolling"]
    """all-at-once, canary and linear start a second fleet; rolling replaces instances in
    batches."""
    percent: Annotated[int, Field(ge=1, le=50)] = 10
    """Percent of the capacity in the first step (canary) or in each step; not for all-at-once."""
    wait_seconds: Annotated[int, range_field(ranges.WAIT_SECONDS)] = 600
    """Time between two steps in which alarms are watched, in seconds; not for all-at-once."""
    rollback_error_rate: Annotated[FiniteFloat, range_field(ranges.ROLLBACK_ERROR_RATE)] = 0.2
    """Share of failed requests, including 4XX errors, above which an update is rolled back. Choose
    a value above the usual share of invalid requests and below that of one broken model."""

    def times(self, start: int) -> UpdateTimes:
        """Return the durations of an update of instances that start in up to `start` seconds."""
        return UpdateTimes.of(self.model_dump(), start)
