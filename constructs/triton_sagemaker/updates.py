"""Updates of an endpoint: blue/green or rolling, with alarms."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from aws_cdk import Duration
from aws_cdk import aws_sagemaker as sagemaker

from platform_facts.rules import ranges, updates
from platform_facts.rules.updates import KEEP_OLD_SECONDS, LONGEST_SECONDS, UpdateTimes
from triton_sagemaker.problems import Problem, as_problems

Cfn = sagemaker.CfnEndpoint
FIVE_MINUTES = Duration.minutes(5)
TEN_MINUTES = Duration.minutes(10)


class UpdatePolicy:
    """A blue/green update; the old instances stay for a while, in which an alarm rolls it back."""

    strategy: ClassVar[str]

    @cached_property
    def times(self) -> UpdateTimes:
        """The times of its steps and waits."""
        return UpdateTimes(strategy=self.strategy, keep_old=KEEP_OLD_SECONDS)

    @property
    def policy(self) -> dict[str, Any]:
        """The members of the deployment configuration."""
        return {
            "blue_green_update_policy": Cfn.BlueGreenUpdatePolicyProperty(
                maximum_execution_timeout_in_seconds=self._longest(),
                termination_wait_in_seconds=KEEP_OLD_SECONDS,
                traffic_routing_configuration=Cfn.TrafficRoutingConfigProperty(
                    type=self.strategy.upper().replace("-", "_"),
                    # CloudFormation does not require it, the API that it calls does.
                    wait_interval_in_seconds=self.times.wait,
                    **self._step(),
                ),
            )
        }

    def problems(self) -> Iterator[Problem]:
        """Yield what SageMaker would reject."""
        times = self.times
        violations = ranges.WAIT_SECONDS(times.wait) or updates.update(times)
        yield from as_problems(violations, times.wait)

    def _longest(self) -> int:
        """Return how many seconds an update of any number of instances may take."""
        if any(self.problems()):  # such as a percent of 0
            return LONGEST_SECONDS
        return min(LONGEST_SECONDS, self.times.longest())

    def _step(self) -> dict[str, Cfn.CapacitySizeProperty]:
        return {}


class AllAtOnce(UpdatePolicy):
    """Blue/green: new instances take all traffic when they are healthy."""

    strategy = "all-at-once"


@dataclass(frozen=True, kw_only=True)
class StepwiseUpdate(UpdatePolicy):
    """An update in steps of `percent` of the capacity, `wait` apart."""

    percent: int = 25
    wait: Duration = FIVE_MINUTES

    @cached_property
    def times(self) -> UpdateTimes:
        """The times of its steps and waits."""
        keep_old = 0 if self.strategy == "rolling" else KEEP_OLD_SECONDS
        wait = int(self.wait.to_seconds())
        return UpdateTimes(
            strategy=self.strategy, percent=self.percent, wait=wait, keep_old=keep_old
        )

    def _capacity(self) -> Cfn.CapacitySizeProperty:
        return Cfn.CapacitySizeProperty(type="CAPACITY_PERCENT", value=self.percent)


@dataclass(frozen=True, kw_only=True)
class Canary(StepwiseUpdate):
    """Blue/green: a share of the traffic first, the rest when it went well.

    `percent` of the capacity, at most 50, for `wait`. How SageMaker rounds it to instances
    is documented nowhere: of two instances, a canary of 10 % may be one, and half of the traffic.
    """

    strategy = "canary"

    percent: int = 10
    wait: Duration = TEN_MINUTES

    def _step(self) -> dict[str, Cfn.CapacitySizeProperty]:
        return {"canary_size": self._capacity()}


class Linear(StepwiseUpdate):
    """Blue/green in equal steps of `percent` of the capacity, 10 to 50, `wait` apart."""

    strategy = "linear"

    def _step(self) -> dict[str, Cfn.CapacitySizeProperty]:
        return {"linear_step_size": self._capacity()}


class Rolling(StepwiseUpdate):
    """Replace `percent` of the instances at a time, 5 to 50, `wait` apart.

    Needs no second fleet, which suits scarce GPUs; one variant only.
    """

    strategy = "rolling"

    @property
    def policy(self) -> dict[str, Any]:
        """The members of the deployment configuration."""
        return {
            "rolling_update_policy": Cfn.RollingUpdatePolicyProperty(
                maximum_batch_size=self._capacity(),
                maximum_execution_timeout_in_seconds=self._longest(),
                wait_interval_in_seconds=self.times.wait,
            )
        }


def deployment_config(
    update: UpdatePolicy, *, alarm_names: Sequence[str]
) -> Cfn.DeploymentConfigProperty:
    """Return the DeploymentConfig, without regard to scaling: a change of it is an update."""
    return Cfn.DeploymentConfigProperty(
        auto_rollback_configuration=Cfn.AutoRollbackConfigProperty(
            alarms=[Cfn.AlarmProperty(alarm_name=name) for name in alarm_names]
        ),
        **update.policy,
    )
