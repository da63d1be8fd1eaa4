"""Checks of models and deployments that need more than the request."""

from typing import Any

import pytest

from local_sagemaker.errors import ApiError
from local_sagemaker.tests.sagemaker.conftest import CONTAINER
from local_sagemaker.tests.sagemaker.policies import blue_green, rolling, size
from local_sagemaker.validation.hosting import (
    MAX_ENVIRONMENT_BYTES,
    check_deployment,
    check_model,
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
