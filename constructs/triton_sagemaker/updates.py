"""Strategies of endpoint updates."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from aws_cdk import Duration

from platform_facts.rules import ranges, updates
from platform_facts.rules.updates import UpdateTimes
from triton_sagemaker.problems import Problem, check, reject_plain_values

FIVE_MINUTES = Duration.minutes(5)
TEN_MINUTES = Duration.minutes(10)


class UpdatePolicy:
    """Base class of update strategies, with a blue/green update in one step."""

    strategy: ClassVar[str]

    def times(self, start: int) -> UpdateTimes:
        """Return the durations of an update of instances that start in up to `start` seconds."""
        return UpdateTimes(strategy=self.strategy, start=start)

    def deployment_config(self, start: int, alarm_names: Sequence[str]) -> dict[str, Any]:
        """Return CloudFormation's DeploymentConfig."""
        alarms = [{"AlarmName": name} for name in alarm_names]
        return {"AutoRollbackConfiguration": {"Alarms": alarms}, **self.times(start).policies()}

    def problems(self, start: int) -> Iterator[Problem]:
        """Yield the settings that SageMaker would reject."""
        times = self.times(start)
        problems = [*check(ranges.WAIT_SECONDS, times.wait)]
        yield from problems or check(updates.check_update, times)


class AllAtOnce(UpdatePolicy):
    """Blue/green: all traffic moves to the new instances when they are healthy."""

    strategy = "all-at-once"


@dataclass(frozen=True, kw_only=True)
class StepwiseUpdate(UpdatePolicy):
    """Base class of updates in steps of `percent` of the capacity, with `wait` between them."""

    percent: int = 25
    wait: Duration = FIVE_MINUTES

    def __post_init__(self) -> None:
        reject_plain_values(wait=self.wait)

    def times(self, start: int) -> UpdateTimes:
        """Return the durations of an update of instances that start in up to `start` seconds."""
        wait = self._wait_seconds
        return UpdateTimes(strategy=self.strategy, start=start, percent=self.percent, wait=wait)

    @cached_property
    def _wait_seconds(self) -> int:
        return int(self.wait.to_seconds())


@dataclass(frozen=True, kw_only=True)
class Canary(StepwiseUpdate):
    """Blue/green: `percent` of the capacity (at most 50) first, and the remainder after `wait`.

    How SageMaker rounds `percent` to instances is not documented: with two instances, a canary of
    10 % may be one instance, with half of the traffic.
    """

    strategy = "canary"

    percent: int = 10
    wait: Duration = TEN_MINUTES


class Linear(StepwiseUpdate):
    """Blue/green: steps of `percent` of the capacity, 10 to 50, with `wait` between them."""

    strategy = "linear"


class Rolling(StepwiseUpdate):
    """Batches of `percent` of the instances, 5 to 50, with `wait` between them.

    A rolling update needs no second fleet, which suits scarce GPUs. One variant only. A rollback
    starts all replaced instances at once, AWS's default, because callers reach failing instances
    until its end; batches (RollbackMaximumBatchSize) would each take the start of an instance.
    """

    strategy = "rolling"
