"""How an endpoint moves to a new configuration."""

from typing import Annotated, Literal

from pydantic import Field, FiniteFloat

from stages.schema.part import Part


class UpdateConfig(Part):
    """How the endpoint moves to a new configuration."""

    strategy: Literal["all-at-once", "canary", "linear", "rolling"]
    """all-at-once, canary and linear start a second fleet; rolling replaces in place."""
    percent: Annotated[int, Field(ge=1, le=50)] = 10
    """Share of the capacity that moves first, or at a time; not for all-at-once."""
    wait_seconds: Annotated[int, Field(ge=0, le=3600)] = 600
    """Time to watch the alarms between two moves; not for all-at-once."""
    rollback_error_rate: Annotated[FiniteFloat, Field(gt=0, le=1)] = 0.2
    """Share of requests that the new instances may fail, callers' mistakes among them, before the
    update is rolled back: more than callers get wrong, less than one broken model makes fail."""
