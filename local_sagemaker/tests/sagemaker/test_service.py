import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from local_sagemaker.api import JsonService
from local_sagemaker.errors import ApiError
from local_sagemaker.sagemaker.endpoint_operations import EndpointOperations
from local_sagemaker.tests.sagemaker.conftest import CONTAINER, config, model

RESOURCE = {"ResourceArn": "arn:aws:sagemaker:us-east-1:000000000000:model/m"}
LIST_REQUEST = {"MaxResults": 1, "NextToken": "x", "NameContains": "m"}
TEXT = {"EndpointName": "text"}
COMPONENT = {"InferenceComponentName": "times"}
SPECIFICATION = {
    "ModelName": "m",
    "ComputeResourceRequirements": {"MinMemoryRequiredInMb": 128, "NumberOfCpuCoresRequired": 1.0},
    "StartupParameters": {"ContainerStartupHealthCheckTimeoutInSeconds": 60},
}
VALID_REQUESTS: dict[str, dict[str, Any]] = {
    "AddTags": {**RESOURCE, "Tags": [{"Key": "a", "Value": "b"}]},
    "CreateEndpoint": {**TEXT, "EndpointConfigName": "none"},
    "CreateEndpointConfig": config("n", InitialVariantWeight=1.0),
    "CreateInferenceComponent": {
        **TEXT,
        **COMPONENT,
        "VariantName": "only",
        "Specification": SPECIFICATION,
        "RuntimeConfig": {"CopyCount": 1},
    },
    "CreateModel": {**model("n", Environment={"A": "b"}), "Containers": [CONTAINER]},
    "DeleteEndpoint": TEXT,
    "DeleteEndpointConfig": {"EndpointConfigName": "one"},
    "DeleteInferenceComponent": COMPONENT,
    "DeleteModel": {"ModelName": "m"},
    "DeleteTags": {**RESOURCE, "TagKeys": ["a"]},
    "DescribeEndpoint": TEXT,
    "DescribeEndpointConfig": {"EndpointConfigName": "one"},
    "DescribeInferenceComponent": COMPONENT,
    "DescribeModel": {"ModelName": "m"},
    "ListEndpointConfigs": {**LIST_REQUEST, "SortBy": "Name", "SortOrder": "Ascending"},
    "ListEndpoints": {**LIST_REQUEST, "StatusEquals": "Failed"},
    "ListInferenceComponents": {**LIST_REQUEST, "EndpointNameEquals": "text"},
    "ListModels": LIST_REQUEST,
    "ListTags": {**RESOURCE, "MaxResults": 50},
    "UpdateEndpoint": {
        **TEXT,
        "EndpointConfigName": "two",
        "ExcludeRetainedVariantProperties": [{"VariantPropertyType": "DesiredWeight"}],
    },
    "UpdateInferenceComponent": {**COMPONENT, "Specification": SPECIFICATION},
    "UpdateInferenceComponentRuntimeConfig": {
        **COMPONENT,
        "DesiredRuntimeConfig": {"CopyCount": 1},
    },
    "UpdateEndpointWeightsAndCapacities": {
        **TEXT,
        "DesiredWeightsAndCapacities": [{"VariantName": "only", "DesiredWeight": 1.0}],
    },
}
ABSENT = object()
INVALID_VALUES: tuple[Any, ...] = (
    ABSENT, None, True, -1, 2**62, 1e300, "", "../x", "m" * 5000, [], [[]], {}, {"x": 1}, [None],
)  # fmt: skip


def invalid_requests(value: Any) -> Iterator[Any]:
    """Yield copies of a request, each with one part replaced by an invalid value."""
    parts = list(value.items() if isinstance(value, dict) else enumerate(value))
    for key, part in parts:
        for bad in [
            *INVALID_VALUES,
            *(invalid_requests(part) if isinstance(part, dict | list) else ()),
        ]:
            changed = {k: v for k, v in {**dict(parts), key: bad}.items() if v is not ABSENT}
            yield changed if isinstance(value, dict) else list(changed.values())


@pytest.mark.parametrize("operation", VALID_REQUESTS)
def test_invalid_request_is_no_internal_error(
    hosting: EndpointOperations, sagemaker: JsonService, operation: str
) -> None:
    hosting.create_endpoint({**TEXT, "EndpointConfigName": "one"})
    for request in invalid_requests(VALID_REQUESTS[operation]):
        body = json.dumps(request).encode()
        response = sagemaker.answer(operation, body)
        assert response
        assert response[0] in (200, 400), request
        for delete in (hosting.delete_model, hosting.delete_endpoint_config):
            with suppress(ApiError):  # the next request creates it again
                delete({"ModelName": "n", "EndpointConfigName": "n"})


def test_every_operation_has_a_valid_request(sagemaker: JsonService) -> None:
    assert sorted(sagemaker.operations) == sorted(VALID_REQUESTS)
