"""Strategies of endpoint updates."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from aws_cdk import Duration
from aws_cdk import aws_sagemaker as sagemaker

from platform_facts.rules import ranges, updates
from platform_facts.rules.updates import MAX_UPDATE_SECONDS, TERMINATION_WAIT_SECONDS, UpdateTimes
from triton_sagemaker.problems import Problem, check, reject_plain_values

Cfn = sagemaker.CfnEndpoint
FIVE_MINUTES = Duration.minutes(5)
TEN_MINUTES = Duration.minutes(10)


class UpdatePolicy:
    """Base class of update strategies, with a blue/green update in one step."""

    strategy: ClassVar[str]

    @cached_property
    def times(self) -> UpdateTimes:
        """The parameters that determine the duration of an update."""
        return UpdateTimes(strategy=self.strategy, termination_wait=TERMINATION_WAIT_SECONDS)

    def _policy(self) -> dict[str, Any]:
        """Return the update policy, a property of the DeploymentConfig."""
        return {
            "blue_green_update_policy": Cfn.BlueGreenUpdatePolicyProperty(
                maximum_execution_timeout_in_seconds=self._timeout(),
                termination_wait_in_seconds=TERMINATION_WAIT_SECONDS,
                traffic_routing_configuration=Cfn.TrafficRoutingConfigProperty(
                    type=self.strategy.upper().replace("-", "_"),
                    # Optional in CloudFormation, required in the API that it calls.
                    wait_interval_in_seconds=self.times.wait,
                    **self._step(),
                ),
            )
        }

    def deployment_config(self, alarm_names: Sequence[str]) -> Cfn.DeploymentConfigProperty:
        """Return the DeploymentConfig.

        It does not depend on scaling, because each change of it causes an update.
        """
        return Cfn.DeploymentConfigProperty(
            auto_rollback_configuration=Cfn.AutoRollbackConfigProperty(
                alarms=[Cfn.AlarmProperty(alarm_name=name) for name in alarm_names]
            ),
            **self._policy(),
        )

    def problems(self) -> Iterator[Problem]:
        """Yield the settings that SageMaker would reject."""
        times = self.times
        problems = [*check(ranges.WAIT_SECONDS, times.wait)]
        yield from problems or check(updates.check_update, times)

    def _timeout(self) -> int:
        """Return the time limit of an update of any number of instances, in seconds."""
        if self.times.percent < 1:  # invalid
            return MAX_UPDATE_SECONDS
        return min(MAX_UPDATE_SECONDS, self.times.max_seconds())

    def _step(self) -> dict[str, Cfn.CapacitySizeProperty]:
        return {}


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

    @cached_property
    def times(self) -> UpdateTimes:
        """The parameters that determine the duration of an update."""
        termination_wait = 0 if self.strategy == "rolling" else TERMINATION_WAIT_SECONDS
        wait = int(self.wait.to_seconds())
        return UpdateTimes(
            strategy=self.strategy,
            percent=self.percent,
            wait=wait,
            termination_wait=termination_wait,
        )

    def _capacity(self) -> Cfn.CapacitySizeProperty:
        return Cfn.CapacitySizeProperty(type="CAPACITY_PERCENT", value=self.percent)


@dataclass(frozen=True, kw_only=True)
class Canary(StepwiseUpdate):
    """Blue/green: `percent` of the capacity (at most 50) first, and the remainder after `wait`.

    How SageMaker rounds `percent` to instances is not documented: with two instances, a canary of
    10 % may be one instance, with half of the traffic.
    """

    strategy = "canary"

    percent: int = 10
    wait: Duration = TEN_MINUTES

    def _step(self) -> dict[str, Cfn.CapacitySizeProperty]:
        return {"canary_size": self._capacity()}


class Linear(StepwiseUpdate):
    """Blue/green: steps of `percent` of the capacity, 10 to 50, with `wait` between them."""

    strategy = "linear"

    def _step(self) -> dict[str, Cfn.CapacitySizeProperty]:
        return {"linear_step_size": self._capacity()}


class Rolling(StepwiseUpdate):
    """Batches of `percent` of the instances, 5 to 50, with `wait` between them.

    A rolling update needs no second fleet, which suits scarce GPUs. One variant only.
    """

    strategy = "rolling"

    def _policy(self) -> dict[str, Any]:
        return {
            "rolling_update_policy": Cfn.RollingUpdatePolicyProperty(
                maximum_batch_size=self._capacity(),
                maximum_execution_timeout_in_seconds=self._timeout(),
                wait_interval_in_seconds=self.times.wait,
            )
        }
