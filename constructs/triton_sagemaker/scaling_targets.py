"""What the number of instances follows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from aws_cdk import Duration

from triton_sagemaker.argument_types import typed
from triton_sagemaker.problems import Problem
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
    schedules: Sequence[ScheduledCapacity],
) -> list[Problem]:
    """Return everything that is wrong with how a variant shall scale."""
    limits = {"scaling": (min_count, max_count)} | {
        f"scaling.schedules.{it.name}": (it.min_count, it.max_count) for it in schedules
    }
    problems = []
    for where, (low, high) in limits.items():
        if low < 1:
            problems.append(
                Problem(
                    f"{where}.min_count",
                    f"{low} is too few: write 1 or more; only asynchronous endpoints, and those "
                    "of inference components, scale to zero",
                )
            )
        if high < low:
            problems.append(
                Problem(f"{where}.max_count", f"{high} is less than min_count {low}: write more")
            )
    initial = variant.instances.initial_count
    if min_count <= max_count and not min_count <= initial <= max_count:
        problems.append(
            Problem(
                "instances.initial_count",
                f"{initial} is outside the scaling limits: write {min_count} to {max_count}",
            )
        )
    if not targets and not schedules:
        problems.append(Problem("scaling.targets", "nothing to scale by: write a target"))
    kinds = [type(target) for target in targets]
    problems += [
        Problem("scaling.targets", f"{name} is given twice: keep one")
        for name in sorted({kind.__name__ for kind in kinds if kinds.count(kind) > 1})
    ]
    for target in targets:
        problems += _target_problems(target, variant)
    return problems


def _target_problems(target: Target, variant: Variant) -> list[Problem]:
    match target:
        case GpuTarget(percent=percent):
            if variant.instances.instance_type.gpu is None:
                name = variant.instances.instance_type.name
                return [Problem("scaling.targets", f"{name} has no GPU to scale by: remove it")]
            if not 0 < percent <= 100:
                return [Problem("scaling.targets", f"{percent} % of a GPU: write 1 to 100")]
        case CpuTarget(percent=percent):
            if not 0 < percent <= 100:
                return [Problem("scaling.targets", f"{percent} % of a vCPU: write 1 to 100")]
        case InvocationsTarget(per_minute=value) | ConcurrencyTarget(per_instance=value):
            if value <= 0:
                return [Problem("scaling.targets", f"a target of {value}: write more than 0")]
    return []
