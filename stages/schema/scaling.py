"""Between how many instances, by what, and when otherwise."""

from typing import Annotated, Self

from pydantic import AfterValidator, Field, FiniteFloat, model_validator

from stages.schema.names import Name
from stages.schema.part import MAX_INTEGER, Found, Part, refuse
from stages.schema.schedule import expression, time_zone

Count = Annotated[int, Field(ge=1, le=MAX_INTEGER)]
"""Only endpoints of inference components scale to zero instances. Application Auto Scaling API
reference, ScalableTargetAction: MaxCapacity is an integer."""
Seconds = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
"""Application Auto Scaling API reference, TargetTrackingScalingPolicyConfiguration."""


class ScheduleConfig(Part):
    """Other limits from a time on: until another schedule changes them, for none ends by itself."""

    at: Annotated[str, AfterValidator(expression)]
    """When: cron(0 8 ? * MON-FRI *), of minutes, hours, day of month, month, day of week and year;
    rate(12 hours); or once at(2027-01-31T08:00:00)."""
    timezone: Annotated[str, AfterValidator(time_zone)] = "UTC"
    """Of cron and at: a canonical IANA name such as Europe/Berlin."""
    min_count: Count
    """Fewest instances from then on."""
    max_count: Count
    """Most instances from then on."""


class ScalingConfig(Part):
    """Between how many instances, and by what."""

    min_count: Count
    """Fewest instances."""
    max_count: Count
    """Most instances."""
    max_rps: Annotated[FiniteFloat, Field(gt=0)] | None = None
    """Requests a second that one instance sustained in a load test; scaling aims at half of it."""
    concurrency: Annotated[FiniteFloat, Field(gt=0)] | None = None
    """Requests that each instance works on at once, to aim at: measured every ten seconds, and so
    the fastest to react. For single-model hosting."""
    gpu_percent: Annotated[float, Field(gt=0, le=100)] | None = None
    """Utilisation of each GPU to aim at."""
    cpu_percent: Annotated[float, Field(gt=0, le=100)] | None = None
    """Utilisation of each vCPU to aim at: for models that compute, or prepare, on the CPU."""
    scale_out_cooldown_seconds: Seconds | None = None
    """Time in which no further instances are added. Left out: 60, and 300 by gpu_percent and
    cpu_percent, which new instances raise at their own start."""
    scale_in_cooldown_seconds: Seconds | None = None
    """Time in which no further instances are removed. Left out: 300, and 600 by gpu_percent and
    cpu_percent."""
    schedules: dict[Name, ScheduleConfig] = {}
    """Other limits from a time on, by the names of the schedules."""

    @model_validator(mode="after")
    def _makes_sense(self) -> Self:
        targets = (self.max_rps, self.concurrency, self.gpu_percent, self.cpu_percent)
        found = [*_limits(self)]
        if not any(it is not None for it in targets) and not self.schedules:
            found.append(
                (
                    (),
                    "nothing to scale by: write max_rps, concurrency, gpu_percent, cpu_percent or "
                    "schedules",
                )
            )
        for name, schedule in self.schedules.items():
            found += ((("schedules", name), message) for _, message in _limits(schedule))
        refuse(found)
        return self


def _limits(limits: "ScalingConfig | ScheduleConfig") -> Found:
    if limits.max_count < limits.min_count:
        yield (), f"max_count {limits.max_count} is less than min_count: write more"
