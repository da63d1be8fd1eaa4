"""What is refused of a DeploymentConfig, before anything changes.

The forms of the values were checked before, by the service's model. AWS refuses these requests in
words that were not found. Rules without a source are marked.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from local_sagemaker.errors import ApiError
from local_sagemaker.sagemaker.deployment import share_of

Record = dict[str, Any]

_SIZES = {"CANARY": "CanarySize", "LINEAR": "LinearStepSize"}

_LIMITS = {
    # "less than or equal to 50% of the variant's total instance count"
    "CanarySize": (0, 50),
    # "10-50% of the variant's total instance count"
    "LinearStepSize": (10, 50),
    # "between 5% to 50% of the variant's total instance count"
    "MaximumBatchSize": (5, 50),
    # A share of the old fleet, so that more than all of it says nothing; no source.
    "RollbackMaximumBatchSize": (0, 100),
}
"""In percent of a variant's instances; source: the API reference of TrafficRoutingConfig and
RollingUpdatePolicy."""


def check_deployment(config: Record, counts: Mapping[str, int]) -> None:
    """Raise `ApiError` if the configuration contradicts itself or the instances by variant."""
    blue_green, rolling = (
        config.get(it) for it in ("BlueGreenUpdatePolicy", "RollingUpdatePolicy")
    )
    if blue_green is not None and rolling is not None:
        # "Only one update policy should be used in the deployment configuration": API reference.
        raise _invalid("Give BlueGreenUpdatePolicy or RollingUpdatePolicy, not both.")
    if rolling is not None and len(counts) > 1:
        # Developer guide, deployment-guardrails-exclusions; serverless endpoints there are none.
        raise _invalid(
            "A rolling deployment is for endpoints of one variant, and not of "
            f"{', '.join(counts)}: use a BlueGreenUpdatePolicy."
        )
    if blue_green is not None:
        _check_waits(blue_green)
    for member, size in _sizes(blue_green, rolling):
        _check_size(member, size, counts)


def check_variants(config: Record, old: Collection[str], new: Collection[str]) -> None:
    """Raise `ApiError` if an update policy is to replace variants by others.

    "When doing a blue/green or rolling deployment, your new endpoint configuration must have the
    same variant name as the old endpoint configuration" (deployment-guardrails-exclusions). Without
    a policy variants do change: Terraform's provider gives them random names where it has none.
    """
    policies = config.keys() & {"BlueGreenUpdatePolicy", "RollingUpdatePolicy"}
    if policies and set(old) != set(new):
        raise _invalid(
            f"The new endpoint configuration has the variants {', '.join(new)}, the endpoint has "
            f"{', '.join(old)}: with a {policies.pop()} their names must be the same."
        )


def check_alarms(names: Collection[str], states: Mapping[str, str]) -> None:
    """Raise `ApiError` for an alarm that does not exist: it could never roll an update back.

    No source was found for what SageMaker does; it needs `cloudwatch:DescribeAlarms` on each.
    """
    absent = [it for it in names if it not in states]
    if absent:
        raise _invalid(f"Could not find the CloudWatch alarm {', '.join(absent)}.")


def _check_waits(policy: Record) -> None:
    """Source: the API reference of BlueGreenUpdatePolicy.

    "the timeout value should be larger than the total waiting time specified in
    TerminationWaitInSeconds and WaitIntervalInSeconds". That an interval counts once for each step
    is not said: an update whose steps take longer times out.
    """
    timeout = policy.get("MaximumExecutionTimeoutInSeconds")
    waits = policy.get("TerminationWaitInSeconds", 0)
    waits += policy["TrafficRoutingConfiguration"]["WaitIntervalInSeconds"]
    if timeout is not None and timeout <= waits:
        raise _invalid(
            f"MaximumExecutionTimeoutInSeconds is {timeout}: it must be larger than "
            f"TerminationWaitInSeconds and WaitIntervalInSeconds together, which is {waits}."
        )


def _sizes(blue_green: Record | None, rolling: Record | None) -> Iterator[tuple[str, Record]]:
    if blue_green is not None:
        routing = blue_green["TrafficRoutingConfiguration"]
        member = _SIZES.get(routing["Type"])
        if member is not None:
            if member not in routing:  # no source
                raise _invalid(f"Traffic routing of type {routing['Type']} needs a {member}.")
            yield member, routing[member]
    if rolling is not None:
        for member in ("MaximumBatchSize", "RollbackMaximumBatchSize"):
            if member in rolling:
                yield member, rolling[member]


def _check_size(member: str, size: Record, counts: Mapping[str, int]) -> None:
    low, high = _LIMITS[member]
    for variant, count in counts.items():
        if not low <= share_of(size, count) * 100 <= high:
            raise _invalid(
                f"{member} is {size['Value']} ({size['Type']}): it must be {low} to {high} percent "
                f"of the {count} instances of variant {variant}."
            )


def _invalid(message: str) -> ApiError:
    return ApiError("ValidationException", message)
