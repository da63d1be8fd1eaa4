"""Checks of models and deployments that need more than the request."""

from typing import Any

import pytest

from local_sagemaker.errors import ApiError
from local_sagemaker.tests.sagemaker.conftest import CONTAINER
from local_sagemaker.tests.sagemaker.policies import blue_green, rolling, size
from local_sagemaker.validation.hosting import (
    MAX_ENVIRONMENT_BYTES,
    check_alarms_exist,
    check_deployment,
    check_model,
    check_variant_names,
)

Record = dict[str, Any]


def test_too_large_environment_is_refused(s3: Any) -> None:
    container = {**CONTAINER, "Environment": {"A": "é" * (MAX_ENVIRONMENT_BYTES // 2)}}
    with pytest.raises(ApiError, match=r"^Environment has more than 32768 bytes\.$"):
        check_model({"PrimaryContainer": container}, s3, is_assumable=lambda _: True)


def canary(value: int, kind: str = "CAPACITY_PERCENT") -> Record:
    return blue_green("CANARY", CanarySize=size(value, kind))


def linear(value: int, kind: str = "CAPACITY_PERCENT") -> Record:
    return blue_green("LINEAR", LinearStepSize=size(value, kind))


def batch(value: int, kind: str = "CAPACITY_PERCENT") -> Record:
    return rolling(size(value, kind))


@pytest.mark.parametrize(
    "config",
    [
        {},
        blue_green("ALL_AT_ONCE", wait=3600, termination=3600),
        blue_green("ALL_AT_ONCE", wait=600, termination=600, timeout=1201),
        canary(50),
        canary(5, "INSTANCE_COUNT"),
        linear(10),
        linear(50),
        linear(1, "INSTANCE_COUNT"),
        batch(5),
        batch(50),
        batch(5, "INSTANCE_COUNT"),
    ],
)
def test_documented_deployment_is_accepted(config: Record) -> None:
    check_deployment(config, {"only": 10})


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (canary(51), "CanarySize is 51 (CAPACITY_PERCENT): it must be 0 to 50 percent"),
        (canary(6, "INSTANCE_COUNT"), "CanarySize is 6 (INSTANCE_COUNT): it must be 0 to 50"),
        (linear(9), "LinearStepSize is 9 (CAPACITY_PERCENT): it must be 10 to 50 percent"),
        (linear(51), "LinearStepSize is 51 "),
        (linear(6, "INSTANCE_COUNT"), "LinearStepSize is 6 "),
        (batch(4), "MaximumBatchSize is 4 (CAPACITY_PERCENT): it must be 5 to 50 percent"),
        (batch(51), "MaximumBatchSize is 51 "),
        (blue_green("ALL_AT_ONCE", wait=600, termination=600, timeout=1200),
         "MaximumExecutionTimeoutInSeconds is 1200: it must be larger than "
         "the sum of TerminationWaitInSeconds and WaitIntervalInSeconds, 1200."),
    ],
)  # fmt: skip
def test_invalid_deployment_is_refused(config: Record, reason: str) -> None:
    with pytest.raises(ApiError) as exc_info:
        check_deployment(config, {"only": 10})
    assert exc_info.value.code == "ValidationException"
    assert exc_info.value.message.startswith(reason)


def test_rolling_deployment_of_several_variants_is_refused() -> None:
    with pytest.raises(
        ApiError, match="needs an endpoint with one variant, but this endpoint has a, b"
    ):
        check_deployment(batch(10), {"a": 10, "b": 10})


@pytest.mark.parametrize("config", [canary(10), batch(10)])
def test_changed_variant_names_are_refused(config: Record) -> None:
    check_variant_names(config, ["a", "b"], ["b", "a"])
    with pytest.raises(ApiError, match="the endpoint has a: the names must be the same with a"):
        check_variant_names(config, ["a"], ["b"])
    check_variant_names({}, ["a"], ["b"])


def test_missing_alarm_is_refused() -> None:
    check_alarms_exist(["errors"], {"errors": "OK"})
    with pytest.raises(ApiError, match=r"^Could not find the CloudWatch alarm slow\.$"):
        check_alarms_exist(["errors", "slow"], {"errors": "OK"})
