"""Instance quotas of the account in CreateEndpoint, UpdateEndpoint and scaling."""

from typing import Any

import pytest

from local_sagemaker.api import JsonService
from local_sagemaker.errors import ApiError
from local_sagemaker.quotas import AccountQuotas
from local_sagemaker.sagemaker.endpoint_operations import EndpointOperations
from local_sagemaker.tests.sagemaker.conftest import Fleets, config
from local_sagemaker.tests.sagemaker.endpoints import wait_in_service
from local_sagemaker.tests.sagemaker.policies import rolling, size

G5 = "ml.g5.xlarge for endpoint usage"
ROLLING = rolling(size(1, "INSTANCE_COUNT"))


@pytest.fixture
def quotas(request: pytest.FixtureRequest) -> AccountQuotas:
    return AccountQuotas(getattr(request, "param", {G5: 5}))


def create(sagemaker: JsonService, name: str, configuration: str) -> None:
    request = {"EndpointName": name, "EndpointConfigName": configuration}
    sagemaker.call("CreateEndpoint", request)


def create_config(hosting: EndpointOperations, count: int) -> str:
    """Create a configuration with this instance count, and return its name."""
    name = f"of-{count}"
    hosting.create_endpoint_config(config(name, InitialInstanceCount=count))
    return name


def error_message(sagemaker: JsonService, operation: str, **request: Any) -> str:
    with pytest.raises(ApiError) as exc_info:
        sagemaker.call(operation, request)
    assert exc_info.value.code == "ResourceLimitExceeded"
    return exc_info.value.message


def test_update_strategy_determines_the_needed_quota(
    hosting: EndpointOperations, sagemaker: JsonService
) -> None:
    create(sagemaker, "a", create_config(hosting, 3))
    wait_in_service(hosting, "a")
    hosting.create_endpoint_config(config("next", InitialInstanceCount=3))
    update = {"EndpointName": "a", "EndpointConfigName": "next"}
    assert "utilization of 3 Instances and a request delta of 3" in error_message(
        sagemaker, "UpdateEndpoint", **update
    )
    assert hosting.describe_endpoint(update)["EndpointStatus"] == "InService"
    sagemaker.call("UpdateEndpoint", {**update, "DeploymentConfig": ROLLING})
    wait_in_service(hosting, "a")


def test_update_in_progress_counts_both_fleets(
    hosting: EndpointOperations, sagemaker: JsonService, fleets: Fleets
) -> None:
    create(sagemaker, "a", create_config(hosting, 2))
    wait_in_service(hosting, "a")
    fleets.ready.clear()
    hosting.create_endpoint_config(config("next", InitialInstanceCount=2))
    sagemaker.call("UpdateEndpoint", {"EndpointName": "a", "EndpointConfigName": "next"})
    assert "utilization of 4 Instances" in error_message(
        sagemaker, "CreateEndpoint", EndpointName="b", EndpointConfigName="of-2"
    )
