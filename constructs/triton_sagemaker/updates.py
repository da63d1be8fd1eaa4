"""How an endpoint moves to a new configuration."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from aws_cdk import Duration
from aws_cdk import aws_sagemaker as sagemaker

from platform_facts.rules import updates
from platform_facts.rules.updates import KEEP_OLD_SECONDS, UpdateTimes
from triton_sagemaker.durations import duration_problems, seconds
from triton_sagemaker.problems import Problem, of_rules

FIVE_MINUTES = Duration.minutes(5)
TEN_MINUTES = Duration.minutes(10)
KEEP_OLD = Duration.seconds(KEEP_OLD_SECONDS)


class TimedUpdate(ABC):
    """An update whose steps and waits are checked, and add up to a time."""

    @abstractmethod
    def times(self, start: int) -> UpdateTimes:
        """Return how long it takes where a fleet, or a batch, takes `start` seconds to come up."""

    def longest(self, *, start: int) -> int:
        """Return how many seconds an update of any number of instances may take."""
        return self.times(start).longest()

    def problems(self, *, start: int) -> Iterator[Problem]:
        """Yield what SageMaker would refuse."""
        times = {name: value for name, value in vars(self).items() if isinstance(value, Duration)}
        wrong = [
            problem
            for name, time in times.items()
            for problem in duration_problems(f"update.{name}", time, 0, 3600)
        ]
        yield from wrong or of_rules(updates.update(self.times(start)), *vars(self).values())


@dataclass(frozen=True, kw_only=True)
class AllAtOnce(TimedUpdate):
    """Blue/green: new instances take all traffic when they are healthy.

    `keep_old` is how long the old instances stay, in which an alarm rolls the traffic back.
    """

    keep_old: Duration = KEEP_OLD

    def policy(self, *, longest: int) -> dict[str, Any]:
        """Return the members of the deployment configuration, with `longest` as the limit."""
        # CloudFormation does not ask for the interval, the API that it calls does.
        wait = {"wait_interval_in_seconds": 0}
        return _blue_green(longest, self.keep_old, type="ALL_AT_ONCE", **wait)

    def times(self, start: int) -> UpdateTimes:
        """Return how long it takes where a fleet, or a batch, takes `start` seconds to come up."""
        return UpdateTimes(strategy="all-at-once", start=start, keep_old=seconds(self.keep_old))


@dataclass(frozen=True, kw_only=True)
class Canary(TimedUpdate):
    """Blue/green: a share of the traffic first, the rest when it went well.

    `percent` of the capacity, at most 50, for `wait`. How SageMaker rounds it to instances
    is documented nowhere: of two instances, a canary of 10 % may be one, and half of the traffic.
    """

    percent: int = 10
    wait: Duration = TEN_MINUTES
    keep_old: Duration = KEEP_OLD

    def policy(self, *, longest: int) -> dict[str, Any]:
        """Return the members of the deployment configuration, with `longest` as the limit."""
        size = _capacity(self.percent)
        wait = {"wait_interval_in_seconds": seconds(self.wait)}
        return _blue_green(longest, self.keep_old, type="CANARY", canary_size=size, **wait)

    def times(self, start: int) -> UpdateTimes:
        """Return how long it takes where a fleet, or a batch, takes `start` seconds to come up."""
        return UpdateTimes(
            strategy="canary",
            start=start,
            percent=self.percent,
            wait=seconds(self.wait),
            keep_old=seconds(self.keep_old),
        )


@dataclass(frozen=True, kw_only=True)
class Linear(TimedUpdate):
    """Blue/green in equal steps of `percent` of the capacity, 10 to 50, `wait` apart."""

    percent: int = 25
    wait: Duration = FIVE_MINUTES
    keep_old: Duration = KEEP_OLD

    def policy(self, *, longest: int) -> dict[str, Any]:
        """Return the members of the deployment configuration, with `longest` as the limit."""
        size = _capacity(self.percent)
        wait = {"wait_interval_in_seconds": seconds(self.wait)}
        return _blue_green(longest, self.keep_old, type="LINEAR", linear_step_size=size, **wait)

    def times(self, start: int) -> UpdateTimes:
        """Return how long it takes where a fleet, or a batch, takes `start` seconds to come up."""
        return UpdateTimes(
            strategy="linear",
            start=start,
            percent=self.percent,
            wait=seconds(self.wait),
            keep_old=seconds(self.keep_old),
        )


@dataclass(frozen=True, kw_only=True)
class Rolling(TimedUpdate):
    """Replace `percent` of the instances at a time, 5 to 50, `wait` apart.

    Needs no second fleet, which is what one wants where GPUs are scarce; one variant only.
    """

    percent: int = 25
    wait: Duration = FIVE_MINUTES

    def policy(self, *, longest: int) -> dict[str, Any]:
        """Return the members of the deployment configuration, with `longest` as the limit."""
        return {
            "rolling_update_policy": sagemaker.CfnEndpoint.RollingUpdatePolicyProperty(
                maximum_batch_size=_capacity(self.percent),
                maximum_execution_timeout_in_seconds=longest,
                wait_interval_in_seconds=seconds(self.wait),
            )
        }

    def times(self, start: int) -> UpdateTimes:
        """Return how long it takes where a fleet, or a batch, takes `start` seconds to come up."""
        return UpdateTimes(
            strategy="rolling", start=start, percent=self.percent, wait=seconds(self.wait)
        )


UpdatePolicy = AllAtOnce | Canary | Linear | Rolling


def _blue_green(longest: int, keep_old: Duration, **routing: Any) -> dict[str, Any]:
    return {
        "blue_green_update_policy": sagemaker.CfnEndpoint.BlueGreenUpdatePolicyProperty(
            maximum_execution_timeout_in_seconds=longest,
            termination_wait_in_seconds=seconds(keep_old),
            traffic_routing_configuration=sagemaker.CfnEndpoint.TrafficRoutingConfigProperty(
                **routing
            ),
        )
    }


def _capacity(percent: int) -> sagemaker.CfnEndpoint.CapacitySizeProperty:
    return sagemaker.CfnEndpoint.CapacitySizeProperty(type="CAPACITY_PERCENT", value=percent)
