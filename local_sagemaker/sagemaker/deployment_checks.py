"""Checks of a DeploymentConfig, which supplement those of botocore's model.

AWS's messages for these errors were not found. Rules without a source are marked.
"""

from collections.abc import Collection, Mapping
from typing import Any

from local_sagemaker.errors import invalid
from local_sagemaker.sagemaker.deployment import capacity_share

Record = dict[str, Any]

MAX_PERCENT = 50
"""Maximum percentage of a variant's instances: "less than or equal to 50%" for a CanarySize,
"10-50%" for a LinearStepSize, "between 5% to 50%" for a MaximumBatchSize (API reference of
TrafficRoutingConfig and RollingUpdatePolicy)."""

_STEP_SIZES = {"CANARY": ("CanarySize", 0), "LINEAR": ("LinearStepSize", 10)}
"""Type of traffic routing -> its required member, and the minimum percentage."""


def check_deployment(config: Record, counts: Mapping[str, int]) -> None:
    """Raise `ApiError` if the configuration is inconsistent, or invalid for the instance counts."""
    blue_green, rolling = (
        config.get(name) for name in ("BlueGreenUpdatePolicy", "RollingUpdatePolicy")
    )
    if blue_green is not None and rolling is not None:
        # "Only one update policy should be used in the deployment configuration": API reference.
        raise invalid("Specify BlueGreenUpdatePolicy or RollingUpdatePolicy, not both.")
    if rolling is not None:
        if len(counts) > 1:
            # Source: developer guide, deployment-guardrails-exclusions.
            raise invalid(
                "A rolling deployment needs an endpoint with one variant, but this endpoint has "
                f"{', '.join(counts)}: use a BlueGreenUpdatePolicy."
            )
        _check_step_size("MaximumBatchSize", rolling, 5, counts)
    if blue_green is not None:
        _check_timeout(blue_green)
        routing = blue_green["TrafficRoutingConfiguration"]
        if routing["Type"] in _STEP_SIZES:
            member, minimum = _STEP_SIZES[routing["Type"]]
            if member not in routing:  # no source
                raise invalid(f"Traffic routing of type {routing['Type']} needs a {member}.")
            _check_step_size(member, routing, minimum, counts)


def check_variant_names(config: Record, old: Collection[str], new: Collection[str]) -> None:
    """Raise `ApiError` if an update with an update policy changes the names of variants.

    "When doing a blue/green or rolling deployment, your new endpoint configuration must have the
    same variant name as the old endpoint configuration" (deployment-guardrails-exclusions). Without
    a policy they may change: Terraform's provider generates random names.
    """
    policies = config.keys() & {"BlueGreenUpdatePolicy", "RollingUpdatePolicy"}
    if policies and set(old) != set(new):
        raise invalid(
            f"The new endpoint configuration has the variants {', '.join(new)}, the endpoint has "
            f"{', '.join(old)}: the names must be the same with a {policies.pop()}."
        )


def check_alarms_exist(names: Collection[str], states: Mapping[str, str]) -> None:
    """Raise `ApiError` if an alarm has no state, because it does not exist.

    SageMaker's behaviour has no source; it requires `cloudwatch:DescribeAlarms` for each alarm.
    """
    missing = [name for name in names if name not in states]
    if missing:
        raise invalid(f"Could not find the CloudWatch alarm {', '.join(missing)}.")


def _check_timeout(policy: Record) -> None:
    """Raise `ApiError` if the timeout is not larger than the sum of the waits.

    "the timeout value should be larger than the total waiting time specified in
    TerminationWaitInSeconds and WaitIntervalInSeconds" (API reference of BlueGreenUpdatePolicy).
    The interval counts once, not per step: an update with more steps times out.
    """
    timeout = policy.get("MaximumExecutionTimeoutInSeconds")
    waits = policy.get("TerminationWaitInSeconds", 0)
    waits += policy["TrafficRoutingConfiguration"]["WaitIntervalInSeconds"]
    if timeout is not None and timeout <= waits:
        raise invalid(
            f"MaximumExecutionTimeoutInSeconds is {timeout}: it must be larger than "
            f"the sum of TerminationWaitInSeconds and WaitIntervalInSeconds, {waits}."
        )


def _check_step_size(member: str, policy: Record, minimum: int, counts: Mapping[str, int]) -> None:
    size = policy[member]
    for variant, count in counts.items():
        if not minimum <= capacity_share(size, count) * 100 <= MAX_PERCENT:
            raise invalid(
                f"{member} is {size['Value']} ({size['Type']}): it must be {minimum} to "
                f"{MAX_PERCENT} percent of the {count} instances of variant {variant}."
            )
