"""Instance quotas of the account in updates; creations and scaling are in requests.yaml."""

from typing import Any

import pytest

from local_sagemaker.errors import ApiError
from local_sagemaker.quotas import AccountQuotas
from local_sagemaker.sagemaker.endpoint_operations import EndpointOperations
from local_sagemaker.tests.sagemaker.conftest import Fleets, config
from local_sagemaker.tests.sagemaker.endpoints import TEXT, create, wait_in_service
from local_sagemaker.tests.sagemaker.policies import rolling, size

NEXT = {**TEXT, "EndpointConfigName": "next"}


@pytest.fixture
def quotas() -> AccountQuotas:
    return AccountQuotas({"ml.g5.xlarge for endpoint usage": 5})


@pytest.fixture
def three(hosting: EndpointOperations) -> EndpointOperations:
    """The endpoint Text with three of five allowed instances."""
    for name in ("three", "next"):
        hosting.create_endpoint_config(config(name, InitialInstanceCount=3))
    create(hosting, config="three")
    wait_in_service(hosting)
    return hosting


def error_message(call: Any, request: dict[str, Any]) -> str:
    with pytest.raises(ApiError) as exc_info:
        call(request)
    assert exc_info.value.code == "ResourceLimitExceeded"
    return exc_info.value.message


def test_update_strategy_determines_the_needed_quota(three: EndpointOperations) -> None:
    message = error_message(three.update_endpoint, NEXT)
    assert "utilization of 3 Instances and a request delta of 3" in message
    assert three.describe_endpoint(TEXT)["EndpointStatus"] == "InService"
    three.update_endpoint({**NEXT, "DeploymentConfig": rolling(size(1, "INSTANCE_COUNT"))})
    wait_in_service(three)


def test_update_in_progress_counts_both_fleets(three: EndpointOperations, fleets: Fleets) -> None:
    three.create_endpoint_config(config("one-more"))
    fleets.ready.clear()
    three.update_endpoint({**NEXT, "EndpointConfigName": "one-more"})
    request = {"EndpointName": "other", "EndpointConfigName": "three"}
    assert "utilization of 4 Instances" in error_message(three.create_endpoint, request)
