"""Operations on the endpoint `Text` for tests."""

from typing import Any

import pytest

from local_sagemaker.errors import ApiError
from local_sagemaker.sagemaker.endpoint_operations import EndpointOperations
from local_sagemaker.tests.support.waiting import eventually

TEXT = {"EndpointName": "Text"}
ARN = "arn:aws:sagemaker:us-east-1:000000000000"


def create(hosting: EndpointOperations, name: str = "Text", config: str = "one") -> None:
    hosting.create_endpoint({"EndpointName": name, "EndpointConfigName": config})


def update(hosting: EndpointOperations, config: str = "two") -> None:
    hosting.update_endpoint({**TEXT, "EndpointConfigName": config})


def delete(hosting: EndpointOperations) -> None:
    """Delete the endpoint and wait until the deletion is finished."""
    hosting.delete_endpoint(TEXT)
    eventually(lambda: hosting.list_endpoints({})["Endpoints"] == [])


def status(hosting: EndpointOperations, name: str = "Text") -> str:
    return str(hosting.describe_endpoint({"EndpointName": name})["EndpointStatus"])


def wait_in_service(hosting: EndpointOperations, name: str = "Text") -> dict[str, Any]:
    """Wait until the endpoint is InService; return its description."""
    eventually(lambda: status(hosting, name) == "InService")
    return hosting.describe_endpoint({"EndpointName": name})


def serving_config(hosting: EndpointOperations) -> str:
    """Return the name of the configuration whose instances answer."""
    route = hosting.endpoints_by_name["Text"].route()
    assert route
    _, instance = route
    return str(instance.config_name)  # type: ignore[attr-defined]


def is_serving(hosting: EndpointOperations) -> bool:
    endpoint = hosting.endpoints_by_name.get("Text")
    return endpoint is not None and endpoint.route() is not None


def error_message(error: pytest.ExceptionInfo[ApiError]) -> str:
    assert error.value.code == "ValidationException"
    return error.value.message


def variant_values(hosting: EndpointOperations, *members: str) -> tuple[Any, ...]:
    """Return values of the only variant from the description of the endpoint."""
    (variant,) = hosting.describe_endpoint(TEXT)["ProductionVariants"]
    return tuple(variant[member] for member in members)


def set_capacity(hosting: EndpointOperations, **changes: Any) -> None:
    desired = [{"VariantName": "only", **changes}]
    hosting.update_endpoint_weights_and_capacities({**TEXT, "DesiredWeightsAndCapacities": desired})
