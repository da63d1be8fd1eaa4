"""The update of an endpoint to a new configuration."""

from typing import Annotated, Literal

from pydantic import Field, FiniteFloat

from platform_facts.rules import ranges
from platform_facts.rules.updates import (
    CONTAINER_SECONDS,
    PROVISIONING_SECONDS,
    TERMINATION_WAIT_SECONDS,
    UpdateTimes,
)
from stages.schema.part import Part, within


class UpdateConfig(Part):
    """The update strategy of the endpoint."""

    strategy: Literal["all-at-once", "canary", "linear", "rolling"]
    """all-at-once, canary and linear start a second fleet; rolling replaces in place."""
    percent: Annotated[int, Field(ge=1, le=50)] = 10
    """Share of the capacity that moves first, or at a time; not for all-at-once."""
    wait_seconds: Annotated[int, within(ranges.WAIT_SECONDS)] = 600
    """Time to watch the alarms between two moves; not for all-at-once."""
    rollback_error_rate: Annotated[FiniteFloat, within(ranges.ROLLBACK_ERROR_RATE)] = 0.2
    """Share of requests that the new instances may fail, callers' mistakes among them, before the
    update is rolled back: more than callers get wrong, less than one broken model makes fail."""

    @property
    def times(self) -> UpdateTimes:
        """The durations of the update, with the constructs' default time-outs."""
        rolling = self.strategy == "rolling"
        return UpdateTimes(
            strategy=self.strategy,
            start=PROVISIONING_SECONDS + 2 * CONTAINER_SECONDS,
            percent=self.percent,
            wait=0 if self.strategy == "all-at-once" else self.wait_seconds,
            termination_wait=0 if rolling else TERMINATION_WAIT_SECONDS,
        )
