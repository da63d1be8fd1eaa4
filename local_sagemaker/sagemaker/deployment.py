"""The steps of a DeploymentConfig, in which traffic shifts to the new instances."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Record = dict[str, Any]

FULL_SHARE = Fraction(1)
MIN_LINEAR_STEP = Fraction(10, 100)
"""A remainder below this share is added to the last linear step: "each linear step should only be
between 10-50%", and LinearStepSizes of 33 % make three steps (developer guide,
deployment-guardrails-blue-green-linear)."""


@dataclass(frozen=True)
class TrafficStep:
    """A step of an update: the new fleet's share of the calls, and the baking period after it."""

    share: Fraction
    bake_seconds: int = 0


@dataclass(frozen=True)
class Deployment:
    """The steps of an update, and the alarms that roll the update back.

    A rolling deployment starts and stops instances according to each step's share; otherwise both
    fleets have their full size.
    """

    steps: tuple[TrafficStep, ...]
    is_rolling: bool = False
    alarms: tuple[str, ...] = ()
    timeout_seconds: float | None = None

    def first_step_counts(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Return how many new instances the first step starts, by variant."""
        return share_of_counts(counts, self.steps[0].share if self.is_rolling else FULL_SHARE)


def parse_deployment(config: Record, counts: Mapping[str, int]) -> Deployment:
    """Return the deployment for a valid DeploymentConfig.

    `counts` are the new fleet's instances by variant. Without a policy, all traffic shifts in one
    step (API reference of DeploymentConfig).
    """
    count, is_rolling = min(counts.values()), False
    steps: tuple[TrafficStep, ...] = (TrafficStep(FULL_SHARE),)
    if policy := config.get("RollingUpdatePolicy", {}):
        steps, is_rolling = _rolling_steps(policy, count), True
    elif policy := config.get("BlueGreenUpdatePolicy", {}):
        steps = _blue_green_steps(policy, count)
    timeout = policy.get("MaximumExecutionTimeoutInSeconds")
    return Deployment(steps, is_rolling, rollback_alarms(config), timeout)


def share_of_counts(counts: Mapping[str, int], share: Fraction) -> dict[str, int]:
    """Return a share of each count, rounded up so that a fleet that gets calls has an instance."""
    return {name: math.ceil(count * share) for name, count in counts.items()}


def rollback_alarms(config: Record) -> tuple[str, ...]:
    """Return the names of the alarms for automatic rollback."""
    rollback = config.get("AutoRollbackConfiguration", {})
    return tuple(alarm["AlarmName"] for alarm in rollback.get("Alarms", []))


def capacity_share(size: Record, count: int) -> Fraction:
    """Return a CapacitySize as a share of a variant's `count` instances.

    A percentage may be less than one instance: "SageMaker AI routes a portion of the incoming
    traffic (for example, 25%) to the canary" (developer guide,
    deployment-guardrails-blue-green-canary).
    """
    return Fraction(size["Value"], 100 if size["Type"] == "CAPACITY_PERCENT" else count)


def _blue_green_steps(policy: Record, count: int) -> tuple[TrafficStep, ...]:
    """Return the steps of a blue/green update.

    WaitIntervalInSeconds is the baking period between two steps (developer guide,
    deployment-guardrails-blue-green-*), TerminationWaitInSeconds the final one:
    "Baking for 600 seconds (TerminationWaitInSeconds)" in the example of an event (developer guide,
    automating-sagemaker-with-eventbridge).
    """
    routing, shares = policy["TrafficRoutingConfiguration"], list[Fraction]()
    if routing["Type"] == "CANARY":
        shares = [capacity_share(routing["CanarySize"], count)]
    elif routing["Type"] == "LINEAR":
        linear_shares = _cumulative_shares(capacity_share(routing["LinearStepSize"], count))
        shares = [share for share in linear_shares if FULL_SHARE - share >= MIN_LINEAR_STEP]
    last_step = TrafficStep(FULL_SHARE, policy.get("TerminationWaitInSeconds", 0))
    return (*(TrafficStep(share, routing["WaitIntervalInSeconds"]) for share in shares), last_step)


def _rolling_steps(policy: Record, count: int) -> tuple[TrafficStep, ...]:
    """Return the steps of a rolling update, one per batch (deployment-guardrails-rolling).

    A percentage is rounded down to whole instances, at least one: 33 % of 3 is 1 in AWS's notebook
    (aws/amazon-sagemaker-examples,
    Update-SageMaker-Inference-endpoint-using-rolling-deployment).
    """
    batch_size = max(1, int(capacity_share(policy["MaximumBatchSize"], count) * count))
    shares = _cumulative_shares(Fraction(batch_size, count))
    return tuple(TrafficStep(share, policy["WaitIntervalInSeconds"]) for share in shares)


def _cumulative_shares(step: Fraction) -> list[Fraction]:
    shares = [step]
    while shares[-1] < FULL_SHARE:
        shares.append(min(FULL_SHARE, shares[-1] + step))
    return shares
