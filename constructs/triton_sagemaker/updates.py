"""How an endpoint moves to a new configuration."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from aws_cdk import aws_sagemaker as sagemaker

from triton_sagemaker.problems import Problem

MAX_SECONDS = 3600 * 4


@dataclass(frozen=True, kw_only=True)
class AllAtOnce:
    """Blue/green: new instances take all traffic when they are healthy.

    `keep_old` is how many seconds the old instances stay, in which an alarm rolls the traffic back.
    """

    keep_old: int = 300

    def policy(self) -> dict[str, Any]:
        """Return the members of the deployment configuration."""
        # CloudFormation does not ask for the interval, the API that it calls does.
        return _blue_green(self.keep_old, type="ALL_AT_ONCE", wait_interval_in_seconds=0)

    def problems(self) -> Iterator[Problem]:
        """Yield what SageMaker would refuse."""
        yield from _seconds("keep_old", self.keep_old)


@dataclass(frozen=True, kw_only=True)
class Canary:
    """Blue/green: a share of the traffic first, the rest when it went well.

    `percent` of the capacity, at most 50, for `wait` seconds.
    """

    percent: int = 10
    wait: int = 600
    keep_old: int = 300

    def policy(self) -> dict[str, Any]:
        """Return the members of the deployment configuration."""
        size = _capacity(self.percent)
        return _blue_green(
            self.keep_old, type="CANARY", canary_size=size, wait_interval_in_seconds=self.wait
        )

    def problems(self) -> Iterator[Problem]:
        """Yield what SageMaker would refuse."""
        yield from _percent("percent", self.percent, 1, 50)
        yield from _seconds("wait", self.wait)
        yield from _seconds("keep_old", self.keep_old)


@dataclass(frozen=True, kw_only=True)
class Linear:
    """Blue/green in equal steps of `percent` of the capacity, 10 to 50, `wait` seconds apart."""

    percent: int = 25
    wait: int = 300
    keep_old: int = 300

    def policy(self) -> dict[str, Any]:
        """Return the members of the deployment configuration."""
        size = _capacity(self.percent)
        return _blue_green(
            self.keep_old, type="LINEAR", linear_step_size=size, wait_interval_in_seconds=self.wait
        )

    def problems(self) -> Iterator[Problem]:
        """Yield what SageMaker would refuse."""
        yield from _percent("percent", self.percent, 10, 50)
        yield from _seconds("wait", self.wait)
        yield from _seconds("keep_old", self.keep_old)


@dataclass(frozen=True, kw_only=True)
class Rolling:
    """Replace `percent` of the instances at a time, 5 to 50, `wait` seconds apart.

    Needs no second fleet, which is what one wants where GPUs are scarce; one variant only.
    """

    percent: int = 25
    wait: int = 300

    def policy(self) -> dict[str, Any]:
        """Return the members of the deployment configuration."""
        return {
            "rolling_update_policy": sagemaker.CfnEndpoint.RollingUpdatePolicyProperty(
                maximum_batch_size=_capacity(self.percent),
                maximum_execution_timeout_in_seconds=MAX_SECONDS,
                wait_interval_in_seconds=self.wait,
            )
        }

    def problems(self) -> Iterator[Problem]:
        """Yield what SageMaker would refuse."""
        yield from _percent("percent", self.percent, 5, 50)
        yield from _seconds("wait", self.wait)


UpdatePolicy = AllAtOnce | Canary | Linear | Rolling


def _blue_green(keep_old: int, **routing: Any) -> dict[str, Any]:
    return {
        "blue_green_update_policy": sagemaker.CfnEndpoint.BlueGreenUpdatePolicyProperty(
            maximum_execution_timeout_in_seconds=MAX_SECONDS,
            termination_wait_in_seconds=keep_old,
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


def _seconds(where: str, value: int) -> Iterator[Problem]:
    if not 0 <= value <= 3600:
        yield Problem(where, f"{value} s is out of range: write 0 to 3600")
