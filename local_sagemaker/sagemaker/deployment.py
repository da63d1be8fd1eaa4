"""What a DeploymentConfig asks for: in which steps an update moves traffic to the new fleet."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

Record = dict[str, Any]

ALL = Fraction(1)
LEAST_LINEAR_STEP = Fraction(10, 100)
"""What is left for the last step is not less: "each linear step should only be between 10-50%", and
steps of 33 % are three (developer guide, deployment-guardrails-blue-green-linear)."""


@dataclass(frozen=True)
class Step:
    """From now on `share` of the calls goes to the new fleet, watched for `bake` seconds.

    `waits` is the member that says how long, as in the message of the variants' status.
    """

    share: Fraction
    bake: int = 0
    waits: str = "TerminationWaitInSeconds"


@dataclass(frozen=True)
class Deployment:
    """How an update goes on, and back.

    A rolling one starts and ends as many instances as a step's share needs, one that is not has
    both fleets at their full size. `back` is the share of the old fleet that comes back at a time.
    `timeout` is in seconds.
    """

    steps: tuple[Step, ...]
    rolling: bool = False
    back: Fraction = ALL
    alarms: tuple[str, ...] = ()
    timeout: float | None = None

    def started(self, counts: Mapping[str, int]) -> dict[str, int]:
        """Return how many new instances start beside the old ones, by variant."""
        share = self.steps[0].share if self.rolling else ALL
        return {name: math.ceil(count * share) for name, count in counts.items()}


def deployment(config: Record, counts: Mapping[str, int], *, excluded: bool = False) -> Deployment:
    """Return what a DeploymentConfig that was checked asks for.

    `counts` are the new fleet's instances by variant. `excluded` says that the endpoint cannot use
    deployment guardrails: "your endpoint will fall back to using a blue/green deployment with all
    at once traffic shifting and no final baking period" (developer guide,
    deployment-guardrails-exclusions). Without a policy traffic shifts all at once too (API
    reference of DeploymentConfig).
    """
    if excluded:
        return Deployment((Step(ALL),))
    alarms = alarms_of(config)
    count = min(counts.values())
    if "RollingUpdatePolicy" in config:
        return _rolling(config["RollingUpdatePolicy"], count, alarms)
    if "BlueGreenUpdatePolicy" in config:
        return _blue_green(config["BlueGreenUpdatePolicy"], count, alarms)
    return Deployment((Step(ALL),), alarms=alarms)


def alarms_of(config: Record) -> tuple[str, ...]:
    """Return the names of the alarms that roll an update back."""
    rollback = config.get("AutoRollbackConfiguration", {})
    return tuple(it["AlarmName"] for it in rollback.get("Alarms", []))


def share_of(size: Record, count: int) -> Fraction:
    """Return the share of a variant's `count` instances that a CapacitySize is.

    A percentage is taken as it stands, also where it is less than one instance: "SageMaker AI
    routes a portion of the incoming traffic (for example, 25%) to the canary" (developer guide,
    deployment-guardrails-blue-green-canary).
    """
    return Fraction(size["Value"], 100 if size["Type"] == "CAPACITY_PERCENT" else count)


def _blue_green(policy: Record, count: int, alarms: tuple[str, ...]) -> Deployment:
    """Source of the waits: developer guide, deployment-guardrails-blue-green-* and -canary.

    WaitIntervalInSeconds passes between two steps, TerminationWaitInSeconds is the final baking
    period: the example of an event has "Baking for 600 seconds (TerminationWaitInSeconds)"
    (developer guide, automating-sagemaker-with-eventbridge).
    """
    routing = policy["TrafficRoutingConfiguration"]
    between = [
        Step(it, routing["WaitIntervalInSeconds"], "WaitIntervalInSeconds")
        for it in _partial(routing, count)
    ]
    final = Step(ALL, policy.get("TerminationWaitInSeconds", 0))
    timeout = policy.get("MaximumExecutionTimeoutInSeconds")
    return Deployment((*between, final), alarms=alarms, timeout=timeout)


def _partial(routing: Record, count: int) -> list[Fraction]:
    """Return the shares before the new fleet has all: one of a canary, some of a linear shift."""
    if routing["Type"] == "CANARY":
        return [share_of(routing["CanarySize"], count)]
    if routing["Type"] == "LINEAR":
        shares = _cumulative(share_of(routing["LinearStepSize"], count))
        return [it for it in shares if ALL - it >= LEAST_LINEAR_STEP]
    return []


def _rolling(policy: Record, count: int, alarms: tuple[str, ...]) -> Deployment:
    """Each batch bakes, and then as much of the old fleet is ended: deployment-guardrails-rolling.

    Of a percentage whole instances, at least one: 33 % of 3 is 1 in AWS's notebook (aws/
    amazon-sagemaker-examples, Update-SageMaker-Inference-endpoint-using-rolling-deployment).
    """
    batch = _whole(policy["MaximumBatchSize"], count)
    back = policy.get("RollbackMaximumBatchSize")
    return Deployment(
        tuple(
            Step(it, policy["WaitIntervalInSeconds"], "WaitIntervalInSeconds")
            for it in _cumulative(batch)
        ),
        rolling=True,
        back=_whole(back, count) if back else ALL,
        alarms=alarms,
        timeout=policy.get("MaximumExecutionTimeoutInSeconds"),
    )


def _whole(size: Record, count: int) -> Fraction:
    return Fraction(max(1, int(share_of(size, count) * count)), count)


def _cumulative(step: Fraction) -> list[Fraction]:
    shares = [step]
    while shares[-1] < ALL:
        shares.append(min(ALL, shares[-1] + step))
    return shares
