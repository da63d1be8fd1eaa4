"""Scaling of the instance count: limits, metrics and schedules."""

from typing import Annotated, Any, Self

from pydantic import Field, FiniteFloat, model_validator

from platform_facts.rules import ranges, scaling, schedules
from platform_facts.rules.ranges import MAX_INTEGER
from stages.schema.names import InstanceTypeName, Name
from stages.schema.section import Section, raise_problems, range_field, rule_validator

Seconds = Annotated[int, Field(ge=0, le=MAX_INTEGER)]
"""Application Auto Scaling API reference, TargetTrackingScalingPolicyConfiguration."""


Concurrency = Annotated[FiniteFloat, range_field(ranges.CONCURRENCY)]


class CountLimits(Section):
    """Limits of the instance count."""

    min_count: Annotated[int, range_field(ranges.MIN_COUNT)]
    """Minimum number of instances."""
    max_count: Annotated[int, range_field(ranges.MAX_COUNT)]
    """Maximum number of instances."""


class ScheduleConfig(CountLimits):
    """Limits that apply from a scheduled time until the next schedule."""

    at: Annotated[str, rule_validator(schedules.check_schedule)]
    """Start time: cron(0 8 ? * MON-FRI *) with minutes, hours, day of month, month, day of week and
    year; rate(12 hours); or at(2027-01-31T08:00:00) for one time."""
    timezone: Annotated[str, rule_validator(schedules.check_time_zone)] = "UTC"
    """Time zone of cron and at: a canonical IANA name such as Europe/Berlin."""


class ScalingConfig(CountLimits):
    """Limits of the instance count, and the metrics to scale by."""

    max_rps: Annotated[FiniteFloat, range_field(ranges.MAX_RPS)] | None = None
    """Requests per second of one instance in a load test; the scaling target is half of it."""
    concurrency: Concurrency | dict[InstanceTypeName, Concurrency] | None = None
    """Target number of concurrent requests per instance. The metric is published every ten seconds,
    so scaling reacts fastest. For single-model hosting. With instance_types of different capacity:
    one number for each type; the metric has a period of one minute."""
    gpu_percent: Annotated[float, range_field(ranges.UTILIZATION_PERCENT)] | None = None
    """Target utilisation of each GPU, in percent."""
    cpu_percent: Annotated[float, range_field(ranges.UTILIZATION_PERCENT)] | None = None
    """Target utilisation of each vCPU, in percent. For models that run on the CPU."""
    scale_out_cooldown_seconds: Seconds | None = None
    """Cooldown after instances were added, in seconds. Default: 60; 300 for gpu_percent and
    cpu_percent, because starting instances increases these metrics."""
    scale_in_cooldown_seconds: Seconds | None = None
    """Cooldown after instances were removed, in seconds. Default: 300; 600 for gpu_percent and
    cpu_percent."""
    schedules: dict[Name, ScheduleConfig] = {}
    """Scheduled changes of the limits, by name."""

    @property
    def targets(self) -> dict[str, Any]:
        """The target-tracking metrics, by their keys."""
        return self.model_dump(include={*scaling.SCALING_TARGETS}, exclude_none=True)

    @model_validator(mode="after")
    def _check_rules(self) -> Self:
        problems = scaling.check_count_limits(self.min_count, self.max_count)
        problems += scaling.check_scaling_target(self.targets, self.schedules)
        for name, schedule in self.schedules.items():
            limits = scaling.check_count_limits.at("scaling", "schedules", name, "max_count")
            problems += limits(schedule.min_count, schedule.max_count)
        raise_problems(problems, depth=1)
        return self
