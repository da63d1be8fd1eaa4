"""The traffic shifting steps of a DeploymentConfig."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Record = dict[str, Any]

ALL = Fraction(1)
LEAST_LINEAR_STEP = Fraction(10, 100)
"""Minimum of the last step: "each linear step should only be between 10-50%", and steps of 33 % are
three (developer guide, deployment-guardrails-blue-green-linear)."""


@dataclass(frozen=True)
class TrafficStep:
    """The new fleet's `share` of the calls, and the baking period in seconds."""

    share: Fraction
    bake: int = 0


@dataclass(frozen=True)
class Deployment:
    """The steps of an update. `timeout` is in seconds.

    A rolling deployment starts and ends instances according to each step's share; otherwise both
    fleets have their full size.
    """

    steps: tuple[TrafficStep, ...]
    rolling: bool = False
    alarms: tuple[str, ...] = ()
    timeout: float | None = None

    def started(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Return the number of new instances that start before any old one ends, by variant."""
        share = self.steps[0].share if self.rolling else ALL
        return part(counts, share)


def deployment(config: Record, counts: Mapping[str, int]) -> Deployment:
    """Return the deployment for a valid DeploymentConfig.

    `counts` are the new fleet's instances by variant. Without a policy, traffic shifts all at once
    (API reference of DeploymentConfig).
    """
    count, is_rolling = min(counts.values()), False
    steps: tuple[TrafficStep, ...] = (TrafficStep(ALL),)
    if policy := config.get("RollingUpdatePolicy", {}):
        steps, is_rolling = _rolling(policy, count), True
    elif policy := config.get("BlueGreenUpdatePolicy", {}):
        steps = _blue_green(policy, count)
    timeout = policy.get("MaximumExecutionTimeoutInSeconds")
    return Deployment(steps, is_rolling, alarms_of(config), timeout)


def part(counts: Mapping[str, int], share: Fraction) -> dict[str, int]:
    """Return the share of the counts, rounded up, so that a fleet with calls has an instance."""
    return {name: math.ceil(count * share) for name, count in counts.items()}


def alarms_of(config: Record) -> tuple[str, ...]:
    """Return the names of the alarms for automatic rollback."""
    rollback = config.get("AutoRollbackConfiguration", {})
    return tuple(alarm["AlarmName"] for alarm in rollback.get("Alarms", []))


def share_of(size: Record, count: int) -> Fraction:
    """Return a CapacitySize as a share of a variant's `count` instances.

    A percentage may be less than one instance: "SageMaker AI routes a portion of the incoming
    traffic (for example, 25%) to the canary" (developer guide,
    deployment-guardrails-blue-green-canary).
    """
    return Fraction(size["Value"], 100 if size["Type"] == "CAPACITY_PERCENT" else count)


def _blue_green(policy: Record, count: int) -> tuple[TrafficStep, ...]:
    """Return the steps of a blue/green update.

    WaitIntervalInSeconds passes between two steps (developer guide,
    deployment-guardrails-blue-green-*), TerminationWaitInSeconds is the final baking period:
    "Baking for 600 seconds (TerminationWaitInSeconds)" in the example of an event (developer guide,
    automating-sagemaker-with-eventbridge).
    """
    routing, shares = policy["TrafficRoutingConfiguration"], list[Fraction]()
    if routing["Type"] == "CANARY":
        shares = [share_of(routing["CanarySize"], count)]
    elif routing["Type"] == "LINEAR":
        linear = _cumulative(share_of(routing["LinearStepSize"], count))
        shares = [share for share in linear if ALL - share >= LEAST_LINEAR_STEP]
    between = [TrafficStep(share, routing["WaitIntervalInSeconds"]) for share in shares]
    return (*between, TrafficStep(ALL, policy.get("TerminationWaitInSeconds", 0)))


def _rolling(policy: Record, count: int) -> tuple[TrafficStep, ...]:
    """Return the steps of a rolling update, one per batch (deployment-guardrails-rolling).

    A percentage is rounded down to whole instances, at least one: 33 % of 3 is 1 in AWS's notebook
    (aws/amazon-sagemaker-examples,
    Update-SageMaker-Inference-endpoint-using-rolling-deployment).
    """
    batch = max(1, int(share_of(policy["MaximumBatchSize"], count) * count))
    shares = _cumulative(Fraction(batch, count))
    return tuple(TrafficStep(share, policy["WaitIntervalInSeconds"]) for share in shares)


def _cumulative(step: Fraction) -> list[Fraction]:
    shares = [step]
    while shares[-1] < ALL:
        shares.append(min(ALL, shares[-1] + step))
    return shares
