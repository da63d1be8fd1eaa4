"""Duration of an endpoint update, in seconds."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

from platform_facts.rules.ranges import API
from platform_facts.rules.rule import Violation, rule
from platform_facts.rules.variants import GUIDE

MAX_UPDATE_SECONDS = 28_800
"""Maximum duration of an update, including the start of instances; SageMaker rolls back after it.

Source: API reference of BlueGreenUpdatePolicy and RollingUpdatePolicy,
MaximumExecutionTimeoutInSeconds, which "should be larger than the total waiting time".
"""
PROVISIONING_SECONDS = 1200
"""Time for SageMaker to provision instances and pull the image. A choice; not documented.

Users report 10 to 15 minutes until an endpoint is in service (hashicorp/terraform-provider-aws
#39090 and #2493).
"""
CONTAINER_MINUTES = 10
"""Default timeout of the archive's download, and of the container's start. A choice."""


def start_seconds(download_minutes: float, startup_minutes: float) -> int:
    """Return the maximum time until a fleet, or a batch, serves or has failed to start."""
    return PROVISIONING_SECONDS + round(60 * (download_minutes + startup_minutes))


START_SECONDS = start_seconds(CONTAINER_MINUTES, CONTAINER_MINUTES)
"""The start time with the default timeouts."""
TERMINATION_WAIT_SECONDS = 300
"""Time until a blue/green update removes the old fleet. A choice of this project."""
BUILD_WAIT_MINUTES = 50
"""Maximum time that a deployment waits for a build. CloudFormation limits a custom resource to one
hour, including its reports (template reference, AWS::CloudFormation::CustomResource,
ServiceTimeout)."""
MIN_PERCENT = {"canary": 1, "linear": 10, "rolling": 5}
MAX_PERCENT = 50


@dataclass(frozen=True, kw_only=True)
class UpdateTimes:
    """The durations of an update, in seconds.

    `start` is the start time of a fleet or a batch.
    """

    strategy: str
    start: int = START_SECONDS
    percent: int = 100
    wait: int = 0

    @classmethod
    def of(cls, update: Mapping[str, Any], start: int) -> Self:
        """Return the durations of an `update` of a stage; `all-at-once` has no wait."""
        strategy = update["strategy"]
        wait = 0 if strategy == "all-at-once" else update["wait_seconds"]
        return cls(strategy=strategy, start=start, percent=update["percent"], wait=wait)

    @property
    def termination_wait(self) -> int:
        """The time for which the old fleet stays; a rolling update has no second fleet."""
        return 0 if self.strategy == "rolling" else TERMINATION_WAIT_SECONDS

    @cached_property
    def wait_count(self) -> int:
        """The maximum number of waits in an update, for any number of instances."""
        match self.strategy:
            case "canary":
                return 1
            case "linear":  # no wait after the last step, which must not be below the minimum
                return len(range(self.percent, 101 - MIN_PERCENT["linear"], self.percent))
            case "rolling":  # most batches: the largest fleet whose batch is one instance
                return -(-200 // self.percent) - 1
        return 0

    def max_seconds(self, instances: int | None = None) -> int:
        """Return the maximum duration of an update of up to `instances`, or of any number."""
        if self.strategy != "rolling":
            return self.start + self.wait_count * self.wait + self.termination_wait
        batches = self.wait_count
        if instances:
            batches = max(-(-count // self._batch_size(count)) for count in range(1, instances + 1))
        return batches * (self.start + self.wait)

    def policies(self) -> dict[str, Any]:
        """Return the update policy of CloudFormation's DeploymentConfig.

        It does not depend on scaling, because each change of it causes an update.
        """
        step = {"Type": "CAPACITY_PERCENT", "Value": self.percent}
        seconds = self.max_seconds() if self.percent > 0 else MAX_UPDATE_SECONDS  # 0 is invalid
        limit = {"MaximumExecutionTimeoutInSeconds": min(MAX_UPDATE_SECONDS, seconds)}
        # The wait is optional in CloudFormation, and required in the API that it calls.
        wait = {"WaitIntervalInSeconds": self.wait}
        if self.strategy == "rolling":
            return {"RollingUpdatePolicy": {"MaximumBatchSize": step, **wait, **limit}}
        routing: dict[str, Any] = {"Type": self.strategy.upper().replace("-", "_"), **wait}
        if size := {"canary": "CanarySize", "linear": "LinearStepSize"}.get(self.strategy):
            routing[size] = step
        termination = {"TerminationWaitInSeconds": self.termination_wait}
        policy = {"TrafficRoutingConfiguration": routing, **termination, **limit}
        return {"BlueGreenUpdatePolicy": policy}

    def _batch_size(self, instances: int) -> int:
        """Return the number of instances in a batch, rounded down, at least one.

        Source: aws/amazon-sagemaker-examples,
        Update-SageMaker-Inference-endpoint-using-rolling-deployment (33 % of 3 instances is 1).
        """
        return max(1, instances * self.percent // 100)


class CopiesUpdate(NamedTuple):
    """An update of an inference component: `percent` of its copies per batch, `wait` in seconds.

    `max_seconds` is the maximum duration: each batch starts containers, and instances are
    added once.
    """

    percent: int
    wait: int
    max_seconds: int

    @classmethod
    def of(cls, times: UpdateTimes, copies: int | None = None) -> Self:
        """Return the update of up to `copies` copies, or of any number.

        The strategy all-at-once uses the largest batches of SageMaker, without a wait.
        """
        percent = times.percent if times.strategy == "rolling" else MAX_PERCENT
        wait = times.wait
        containers = times.start - PROVISIONING_SECONDS
        batches = UpdateTimes(strategy="rolling", start=containers, percent=percent, wait=wait)
        max_seconds = PROVISIONING_SECONDS + batches.max_seconds(copies)
        return cls(percent, wait, min(MAX_UPDATE_SECONDS, max_seconds))


def check_update(times: UpdateTimes) -> list[Violation]:
    """Return violations of the step size and the total duration of an update."""
    return _check_percent(times.strategy, times.percent) or _check_duration(times)


@rule(
    "update.percent",
    f"{API}TrafficRoutingConfig.html; {API}RollingUpdatePolicy.html; "
    f"{GUIDE}deployment-guardrails-blue-green-linear.html",
)
def _check_percent(strategy: str, percent: int) -> str | None:
    """`percent` is 1 to 50 for `canary`, 10 to 50 for `linear`, and 5 to 50 for `rolling`."""
    minimum = MIN_PERCENT.get(strategy)
    if minimum is None or minimum <= percent <= MAX_PERCENT:
        return None
    return f"{percent} % is out of range for {strategy}: write {minimum} to {MAX_PERCENT}"


@rule("update.wait_seconds", f"{API}BlueGreenUpdatePolicy.html, {API}RollingUpdatePolicy.html")
def _check_duration(times: UpdateTimes) -> str | None:
    """A linear or rolling update, including the start of instances, takes less than eight hours."""
    total = times.start + times.wait_count * times.wait + times.termination_wait
    if times.strategy not in ("linear", "rolling") or total < MAX_UPDATE_SECONDS:
        return None
    old_fleet = (
        f", {times.termination_wait} s for the old instances" if times.termination_wait else ""
    )
    return (
        f"up to {times.wait_count} waits of {times.wait} s, {times.start} s to start "
        f"instances{old_fleet}: {total} s in total, and SageMaker ends an update after "
        f"{MAX_UPDATE_SECONDS} s: write a shorter wait, shorter timeouts, or a larger percent"
    )
