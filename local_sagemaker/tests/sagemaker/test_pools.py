"""Configurations with instance pools, and endpoints without capacity."""

from typing import Any

import pytest

from local_sagemaker.hosting.pools import NO_CAPACITY, NoCapacityError
from local_sagemaker.sagemaker.endpoint_operations import EndpointOperations
from local_sagemaker.tests.sagemaker.conftest import FakeClock, Fleets, config, model
from local_sagemaker.tests.sagemaker.endpoints import (
    TEXT,
    create,
    status,
    update,
    wait_in_service,
)
from local_sagemaker.tests.support.waiting import eventually

TYPES = [
    {"InstanceType": "ml.g6.xlarge", "Priority": 1},
    {"InstanceType": "ml.g5.xlarge", "Priority": 2, "ModelNameOverride": "other"},
]


def pooled_config(name: str, **variant: Any) -> dict[str, Any]:
    request = config(name, **{"InstancePools": TYPES, **variant})
    del request["ProductionVariants"][0]["InstanceType"]
    return request


def test_scalable_target_may_change_to_pools_and_back(
    serving: EndpointOperations, scalable_variants: set[str]
) -> None:
    """AWS machine learning blog, "Capacity-aware inference", 2026-05-04: policies stay."""
    serving.create_model(model("other"))
    serving.create_endpoint_config(pooled_config("pools"))
    scalable_variants.add("only")
    for name in ("pools", "two"):
        update(serving, name)
        assert wait_in_service(serving)["EndpointConfigName"] == name


def test_creation_without_capacity_fails_after_the_timeout(
    hosting: EndpointOperations, fleets: Fleets, clock: FakeClock
) -> None:
    """Source of the message: aws/deep-learning-containers, tests of SageMaker endpoints."""
    fleets.failure = NoCapacityError(1860)
    create(hosting)
    eventually(lambda: status(hosting) == "Failed")
    assert hosting.describe_endpoint(TEXT)["FailureReason"] == NO_CAPACITY
    assert clock.longest == 1860


@pytest.mark.parametrize("change", ["update", "scale-out"])
def test_change_without_capacity_fails_after_the_timeout(
    serving: EndpointOperations, fleets: Fleets, clock: FakeClock, change: str
) -> None:
    fleets.failure = error = NoCapacityError(1860)
    if change == "update":
        update(serving, "two")
    else:
        fleets.scaling_errors.append(error)
        desired = [{"VariantName": "only", "DesiredInstanceCount": 2}]
        serving.update_endpoint_weights_and_capacities(
            {**TEXT, "DesiredWeightsAndCapacities": desired}
        )
    description = wait_in_service(serving)
    assert description["FailureReason"] == NO_CAPACITY
    assert description["ProductionVariants"][0]["CurrentInstanceCount"] == 1
    assert clock.longest >= 1860
