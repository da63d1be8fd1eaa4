"""Scaling of the instance count: limits, metrics and schedules."""

from typing import Annotated, Self

from pydantic import Field, FiniteFloat, model_validator

from platform_facts.rules import ranges, scaling, schedules
from platform_facts.rules.ranges import MAX_INTEGER
from stages.schema.names import InstanceTypeName, Name
from stages.schema.part import Part, obeying, refuse, within

Seconds = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
"""Application Auto Scaling API reference, TargetTrackingScalingPolicyConfiguration."""


Concurrency = Annotated[FiniteFloat, within(ranges.CONCURRENCY)]


class Limits(Part):
    """Between how many instances."""

    min_count: Annotated[int, within(ranges.MIN_COUNT)]
    """Fewest instances."""
    max_count: Annotated[int, within(ranges.MAX_COUNT)]
    """Most instances."""


class ScheduleConfig(Limits):
    """Other limits from a time on: until another schedule changes them, for none ends by itself."""

    at: Annotated[str, obeying(schedules.expression)]
    """When: cron(0 8 ? * MON-FRI *), of minutes, hours, day of month, month, day of week and year;
    rate(12 hours); or once at(2027-01-31T08:00:00)."""
    timezone: Annotated[str, obeying(schedules.time_zone)] = "UTC"
    """Of cron and at: a canonical IANA name such as Europe/Berlin."""


class ScalingConfig(Limits):
    """Between how many instances, and by what."""

    max_rps: Annotated[FiniteFloat, within(ranges.MAX_RPS)] | None = None
    """Requests a second that one instance sustained in a load test; scaling aims at half of it."""
    concurrency: Concurrency | dict[InstanceTypeName, Concurrency] | None = None
    """Requests that each instance works on at once, to aim at: measured every ten seconds, and so
    the fastest to react. For single-model hosting. Of instance_types that are not alike, one number
    for each, by minutes."""
    gpu_percent: Annotated[float, within(ranges.GPU_PERCENT)] | None = None
    """Utilisation of each GPU to aim at."""
    cpu_percent: Annotated[float, within(ranges.CPU_PERCENT)] | None = None
    """Utilisation of each vCPU to aim at: for models that compute, or prepare, on the CPU."""
    scale_out_cooldown_seconds: Seconds | None = None
    """Time in which no further instances are added. Left out: 60, and 300 by gpu_percent and
    cpu_percent, which new instances raise at their own start."""
    scale_in_cooldown_seconds: Seconds | None = None
    """Time in which no further instances are removed. Left out: 300, and 600 by gpu_percent and
    cpu_percent."""
    schedules: dict[Name, ScheduleConfig] = {}
    """Other limits from a time on, by the names of the schedules."""

    @property
    def targets(self) -> dict[str, object]:
        """The target-tracking metrics, by their keys."""
        return self.model_dump(include={*ranges.SCALING_TARGETS}, exclude_none=True)

    @model_validator(mode="after")
    def _obeys(self) -> Self:
        problems = scaling.limits(self.min_count, self.max_count)
        problems += scaling.something_to_scale_by(self.targets, self.schedules)
        for name, schedule in self.schedules.items():
            limits = scaling.limits.at("scaling", "schedules", name, "max_count")
            problems += limits(schedule.min_count, schedule.max_count)
        refuse(problems, depth=1)
        return self
