"""What the number of instances follows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from aws_cdk import Duration

from platform_facts.rules import Keys, ranges, scaling, schedules
from triton_sagemaker.argument_types import typed
from triton_sagemaker.multi_model_hosting import MultiModelHosting
from triton_sagemaker.problems import Problem, of_rules
from triton_sagemaker.variant import Variant

ONE_MINUTE, FIVE_MINUTES = Duration.minutes(1), Duration.minutes(5)


@typed
@dataclass(frozen=True, kw_only=True)
class Cooldowns:
    """How long no further step in the same direction is made."""

    scale_in: Duration = FIVE_MINUTES
    scale_out: Duration = ONE_MINUTE


SLOW = Cooldowns(scale_in=Duration.minutes(10), scale_out=FIVE_MINUTES)
"""For what new instances are busy with at their own start."""


@typed
@dataclass(frozen=True, kw_only=True)
class InvocationsTarget:
    """Keep the invocations of each instance at `per_minute`.

    `for_load` computes it from a load test. Source: the developer guide's page on load testing for
    autoscaling.
    """

    name: ClassVar[str] = "Invocations"

    per_minute: float
    cooldowns: Cooldowns = Cooldowns()

    @classmethod
    def for_load(
        cls, *, max_rps: float, safety_factor: float = 0.5, cooldowns: Cooldowns = Cooldowns()
    ) -> "InvocationsTarget":
        """Aim at `safety_factor` of the requests a second that one instance sustains."""
        return cls(per_minute=max_rps * safety_factor * 60, cooldowns=cooldowns)


@typed
@dataclass(frozen=True, kw_only=True)
class GpuTarget:
    """Keep the utilisation of each GPU at `percent`."""

    name: ClassVar[str] = "Gpu"

    percent: float
    cooldowns: Cooldowns = SLOW


@typed
@dataclass(frozen=True, kw_only=True)
class CpuTarget:
    """Keep the utilisation of each vCPU at `percent`."""

    name: ClassVar[str] = "Cpu"

    percent: float
    cooldowns: Cooldowns = SLOW


@typed
@dataclass(frozen=True, kw_only=True)
class ConcurrencyTarget:
    """Keep the requests that each instance works on at once at `per_instance`.

    Measured every ten seconds, and so the fastest to react
    (SageMakerVariantConcurrentRequestsPerModelHighResolution).
    """

    name: ClassVar[str] = "Concurrency"

    per_instance: float
    cooldowns: Cooldowns = Cooldowns()


@typed
@dataclass(frozen=True, kw_only=True)
class ScheduledCapacity:
    """Other limits from a time on. `schedule` is `cron(0 8 * * ? *)`, `at(...)` or `rate(...)`."""

    name: str
    schedule: str
    min_count: int
    max_count: int
    timezone: str = "UTC"


Target = InvocationsTarget | GpuTarget | CpuTarget | ConcurrencyTarget


def scaling_problems(
    variant: Variant,
    min_count: int,
    max_count: int,
    targets: Sequence[Target],
    scheduled: Sequence[ScheduledCapacity],
) -> list[Problem]:
    """Return everything that is wrong with how a variant shall scale."""
    initial = variant.instances.initial_count
    names = [type(target).__name__ for target in targets]
    return [
        *_limits(("scaling",), min_count, max_count),
        *(problem for capacity in scheduled for problem in _schedule(capacity)),
        *of_rules(
            scaling.count_within_limits(initial, min_count, max_count),
            *(initial, min_count, max_count),
        ),
        *of_rules(scaling.something_to_scale_by(names, [it.name for it in scheduled])),
        *(
            Problem("scaling.targets", f"{name} is given twice: keep one")
            for name in sorted({name for name in names if names.count(name) > 1})
        ),
        *(problem for target in targets for problem in _target(target, variant)),
    ]


def _limits(path: Keys, least: int, most: int) -> Iterator[Problem]:
    wrong = [
        *ranges.MIN_COUNT.at(*path, "min_count")(least),
        *ranges.MAX_COUNT.at(*path, "max_count")(most),
    ]
    yield from of_rules(wrong or scaling.limits.at(*path, "max_count")(least, most), *(least, most))


def _schedule(capacity: ScheduledCapacity) -> Iterator[Problem]:
    path = ("scaling", "schedules", capacity.name)
    yield from _limits(path, capacity.min_count, capacity.max_count)
    where = f"{'.'.join(path)}.schedule"
    violations = schedules.expression.at(*path, "at")(capacity.schedule)
    yield from of_rules(violations, capacity.schedule, where=where)
    violations = schedules.time_zone.at(*path, "timezone")(capacity.timezone)
    yield from of_rules(violations, capacity.timezone)


def _target(target: Target, variant: Variant) -> Iterator[Problem]:
    instance_type = variant.instances.instance_type
    match target:
        case GpuTarget(percent=value):
            yield from of_rules(ranges.GPU_PERCENT(value), value)
            yield from of_rules(scaling.utilization_of_a_gpu(value, instance_type))
        case CpuTarget(percent=value):
            yield from of_rules(ranges.CPU_PERCENT(value), value)
        case InvocationsTarget(per_minute=value):
            yield from of_rules(ranges.MAX_RPS(value), value)
        case ConcurrencyTarget(per_instance=value):
            yield from of_rules(ranges.CONCURRENCY(value), value)
            if isinstance(variant.hosting, MultiModelHosting):
                yield from of_rules(scaling.concurrency_of_one_model(value))
