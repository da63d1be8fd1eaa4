import json
from collections.abc import Iterator
from typing import Any

import pytest

from local_sagemaker.api import JsonService
from local_sagemaker.sagemaker.hosting_api import Hosting
from local_sagemaker.tests.sagemaker.conftest import CONTAINER, config, model

RESOURCE = {"ResourceArn": "arn:aws:sagemaker:us-east-1:000000000000:model/m"}
LISTED = {"MaxResults": 1, "NextToken": "x", "NameContains": "m", "CreationTimeAfter": 1}
TEXT = {"EndpointName": "text"}
COMPONENT = {"InferenceComponentName": "times"}
SPECIFICATION = {
    "ModelName": "m",
    "ComputeResourceRequirements": {"MinMemoryRequiredInMb": 128, "NumberOfCpuCoresRequired": 1.0},
    "StartupParameters": {"ContainerStartupHealthCheckTimeoutInSeconds": 60},
}
GOOD: dict[str, dict[str, Any]] = {
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
    "ListEndpointConfigs": {**LISTED, "SortBy": "Name", "SortOrder": "Ascending"},
    "ListEndpoints": {**LISTED, "StatusEquals": "Failed", "LastModifiedTimeBefore": 1},
    "ListInferenceComponents": {**LISTED, "EndpointNameEquals": "text"},
    "ListModels": LISTED,
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
BAD: tuple[Any, ...] = (
    ABSENT, None, True, -1, 2**62, 1e300, "", "../x", "m" * 5000, [], [[]], {}, {"x": 1}, [None],
)  # fmt: skip


def spoilt(value: Any) -> Iterator[Any]:
    """Yield the value with each of its parts, or all of it, replaced by something bad."""
    parts = list(value.items() if isinstance(value, dict) else enumerate(value))
    for key, part in parts:
        worse = [*BAD, *(spoilt(part) if isinstance(part, dict | list) else ())]
        for bad in worse:
            changed = {**dict(parts), key: bad}
            kept = {name: each for name, each in changed.items() if each is not ABSENT}
            yield kept if isinstance(value, dict) else list(kept.values())


@pytest.mark.parametrize("operation", GOOD)
def test_a_bad_request_is_answered_or_refused_and_is_no_error_of_ours(
    hosting: Hosting, sagemaker: JsonService, operation: str
) -> None:
    hosting.create_endpoint({**TEXT, "EndpointConfigName": "one"})
    for request in spoilt(GOOD[operation]):
        body = json.dumps(request).encode()
        status, _, _ = sagemaker.answer(operation, body)
        assert status in (200, 400), request
        for kept in (hosting._models, hosting._configs):
            kept.pop("n", None)  # so that the next is not refused because it is there


def test_every_operation_is_asked_for_something_bad(sagemaker: JsonService) -> None:
    assert sorted(sagemaker._operations) == sorted(GOOD)
