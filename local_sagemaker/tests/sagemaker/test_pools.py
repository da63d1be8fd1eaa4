"""Configurations with instance pools, and endpoints that have no capacity.

First what a source says, then what is the emulator's own choice, which says nothing of AWS.
"""

from typing import Any

import pytest

from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.pools import NO_CAPACITY, NoCapacityError
from local_sagemaker.sagemaker.hosting_api import Hosting
from local_sagemaker.tests.sagemaker.conftest import FakeClock, Fleets, config, model
from local_sagemaker.tests.sagemaker.endpoints import (
    TEXT,
    create,
    in_service,
    refusal,
    status,
    update,
)
from local_sagemaker.tests.support.waiting import eventually

TYPES = [
    {"InstanceType": "ml.g6.xlarge", "Priority": 1},
    {"InstanceType": "ml.g5.xlarge", "Priority": 2, "ModelNameOverride": "other"},
]


def pooled(name: str, **variant: Any) -> dict[str, Any]:
    request = config(name, **{"InstancePools": TYPES, **variant})
    del request["ProductionVariants"][0]["InstanceType"]
    return request


def test_a_scaled_variant_may_get_pools_and_leave_them(hosting: Hosting, scaled: set[str]) -> None:
    """AWS machine learning blog, "Capacity-aware inference", 2026-05-04: policies stay."""
    hosting.create_model(model("other"))
    hosting.create_endpoint_config(pooled("pools"))
    create(hosting)
    in_service(hosting)
    scaled.add("only")
    for name in ("pools", "two"):
        update(hosting, name)
        assert in_service(hosting)["EndpointConfigName"] == name


def test_a_creation_without_capacity_fails_in_awss_words_after_its_time(
    hosting: Hosting, fleets: Fleets, clock: FakeClock
) -> None:
    """Words: aws/deep-learning-containers, tests of SageMaker endpoints. Time: hosting/pools.py."""
    fleets.failure = NoCapacityError(1860)
    create(hosting)
    eventually(lambda: status(hosting) == "Failed")
    assert hosting.describe_endpoint(TEXT)["FailureReason"] == NO_CAPACITY
    assert clock.longest == 1860


# The emulator's own: no source


def test_the_model_of_each_pool_must_exist(hosting: Hosting) -> None:
    with pytest.raises(ApiError, match='Could not find model "') as refused:
        hosting.create_endpoint_config(pooled("pools"))
    assert refusal(refused).endswith('model/other".')


def test_multi_model_containers_have_no_pools(hosting: Hosting, s3: Any) -> None:
    s3.objects["models", "many/m.tar.gz"] = b""
    hosting.create_model(model("other", Mode="MultiModel", ModelDataUrl="s3://models/many/"))
    with pytest.raises(ApiError, match="has no InstancePools for multi-model containers"):
        hosting.create_endpoint_config(pooled("pools"))
