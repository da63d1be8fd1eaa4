"""How an endpoint moves to a new configuration."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from aws_cdk import Duration
from aws_cdk import aws_sagemaker as sagemaker

from triton_sagemaker.durations import duration_problems, seconds
from triton_sagemaker.problems import Problem

LONGEST_SECONDS = 28_800
"""What an update may take, the start of instances included; SageMaker rolls a longer one back.

Source: API reference of BlueGreenUpdatePolicy and RollingUpdatePolicy,
MaximumExecutionTimeoutInSeconds, which "should be larger than the total waiting time".
"""
LEAST_LINEAR_STEP = 10
"""In percent: what is left for the last step is not less (developer guide,
deployment-guardrails-blue-green-linear: "each linear step should only be between 10-50%")."""
NO_TIME = Duration.seconds(0)
FIVE_MINUTES = Duration.minutes(5)
TEN_MINUTES = Duration.minutes(10)


@dataclass(frozen=True, kw_only=True)
class AllAtOnce:
    """Blue/green: new instances take all traffic when they are healthy.

    `keep_old` is how long the old instances stay, in which an alarm rolls the traffic back.
    """

    keep_old: Duration = FIVE_MINUTES

    def policy(self, *, longest: int) -> dict[str, Any]:
        """Return the members of the deployment configuration, with `longest` as the limit."""
        # CloudFormation does not ask for the interval, the API that it calls does.
        wait = {"wait_interval_in_seconds": 0}
        return _blue_green(longest, self.keep_old, type="ALL_AT_ONCE", **wait)

    def longest(self, *, start: int, instances: int | None) -> int:
        """Return how many seconds an update may take where a fleet takes `start` to come up."""
        return start + seconds(self.keep_old)

    def problems(self, *, start: int) -> Iterator[Problem]:
        """Yield what SageMaker would refuse."""
        yield from _hour("keep_old", self.keep_old)


@dataclass(frozen=True, kw_only=True)
class Canary:
    """Blue/green: a share of the traffic first, the rest when it went well.

    `percent` of the capacity, at most 50, for `wait`. How SageMaker rounds it to instances
    is documented nowhere: of two instances, a canary of 10 % may be one, and half of the traffic.
    """

    percent: int = 10
    wait: Duration = TEN_MINUTES
    keep_old: Duration = FIVE_MINUTES

    def policy(self, *, longest: int) -> dict[str, Any]:
        """Return the members of the deployment configuration, with `longest` as the limit."""
        size = _capacity(self.percent)
        wait = {"wait_interval_in_seconds": seconds(self.wait)}
        return _blue_green(longest, self.keep_old, type="CANARY", canary_size=size, **wait)

    def longest(self, *, start: int, instances: int | None) -> int:
        """Return how many seconds an update may take where a fleet takes `start` to come up."""
        return start + seconds(self.wait) + seconds(self.keep_old)

    def problems(self, *, start: int) -> Iterator[Problem]:
        """Yield what SageMaker would refuse."""
        yield from _percent("percent", self.percent, 1, 50)
        yield from _hour("wait", self.wait)
        yield from _hour("keep_old", self.keep_old)


@dataclass(frozen=True, kw_only=True)
class Linear:
    """Blue/green in equal steps of `percent` of the capacity, 10 to 50, `wait` apart."""

    percent: int = 25
    wait: Duration = FIVE_MINUTES
    keep_old: Duration = FIVE_MINUTES

    def policy(self, *, longest: int) -> dict[str, Any]:
        """Return the members of the deployment configuration, with `longest` as the limit."""
        size = _capacity(self.percent)
        wait = {"wait_interval_in_seconds": seconds(self.wait)}
        return _blue_green(longest, self.keep_old, type="LINEAR", linear_step_size=size, **wait)

    def longest(self, *, start: int, instances: int | None) -> int:
        """Return how many seconds an update may take where a fleet takes `start` to come up."""
        return start + self._waits() * seconds(self.wait) + seconds(self.keep_old)

    def problems(self, *, start: int) -> Iterator[Problem]:
        """Yield what SageMaker would refuse."""
        wrong = [
            *_percent("percent", self.percent, LEAST_LINEAR_STEP, 50),
            *_hour("wait", self.wait),
            *_hour("keep_old", self.keep_old),
        ]
        yield from wrong or _total(self._waits(), self.wait, start=start, keep_old=self.keep_old)

    def _waits(self) -> int:
        """Return how often traffic is moved before the last time."""
        return len(range(self.percent, 101 - LEAST_LINEAR_STEP, self.percent))


@dataclass(frozen=True, kw_only=True)
class Rolling:
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

    def longest(self, *, start: int, instances: int | None) -> int:
        """Return how many seconds an update of up to `instances` may take, a batch after the other.

        Of any number of instances where that is None. `start` is what a batch takes to come up.
        """
        most = self._most_batches()
        if instances:
            most = max(-(-count // self._batch(count)) for count in range(1, instances + 1))
        return most * (start + seconds(self.wait))

    def problems(self, *, start: int) -> Iterator[Problem]:
        """Yield what SageMaker would refuse."""
        wrong = [*_percent("percent", self.percent, 5, 50), *_hour("wait", self.wait)]
        yield from wrong or _total(self._most_batches(), self.wait, start=start)

    def _most_batches(self) -> int:
        """Return how many batches an update can have, whatever number scaling has chosen.

        The most are needed just before `percent` makes two.
        """
        return -(-200 // self.percent) - 1

    def _batch(self, instances: int) -> int:
        """Return how many of `instances` are replaced at a time.

        A batch has whole instances and at least one: 33 % of 3 is 1 in AWS's notebook (aws/
        amazon-sagemaker-examples, Update-SageMaker-Inference-endpoint-using-rolling-deployment).
        """
        return max(1, instances * self.percent // 100)


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


def _percent(where: str, value: int, low: int, high: int) -> Iterator[Problem]:
    if not low <= value <= high:
        yield Problem(where, f"{value} % is out of range: write {low} to {high}")


def _hour(where: str, value: Duration) -> Iterator[Problem]:
    yield from duration_problems(where, value, 0, 3600)


def _total(
    waits: int, wait: Duration, *, start: int, keep_old: Duration = NO_TIME
) -> Iterator[Problem]:
    each, kept_for = seconds(wait), seconds(keep_old)
    total = start + waits * each + kept_for
    if total >= LONGEST_SECONDS:
        kept = f", {kept_for} s for the old ones" if kept_for else ""
        yield Problem(
            "wait",
            f"up to {waits} waits of {each} s, {start} s to start instances{kept}: these are "
            f"{total} s, and SageMaker ends an update after {LONGEST_SECONDS} s: write a shorter "
            "wait, or a larger percent",
        )
