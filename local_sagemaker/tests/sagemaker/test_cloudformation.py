import re
from typing import Any

import pytest

from local_sagemaker.api import JsonService
from local_sagemaker.errors import ApiError
from local_sagemaker.sagemaker import cloudformation
from local_sagemaker.sagemaker.cloudformation import (
    EndpointResource,
    InferenceComponentResource,
    ModelResource,
)
from local_sagemaker.sagemaker.component_operations import HostingOperations
from local_sagemaker.sagemaker.endpoint_operations import EndpointOperations
from local_sagemaker.tests.sagemaker.conftest import CONTAINER, FakeClock, Fleets
from local_sagemaker.tests.sagemaker.test_component_operations import (
    REQUEST,
    TIMES,
    create_components_endpoint,
)

ARN = "arn:aws:sagemaker:us-east-1:000000000000"
PROPERTIES: dict[str, Any] = {"PrimaryContainer": CONTAINER}
TEXT = {"EndpointName": "Text", "EndpointConfigName": "one"}


@pytest.fixture
def model(sagemaker: JsonService) -> ModelResource:
    return ModelResource(sagemaker)


@pytest.fixture
def endpoint(sagemaker: JsonService) -> EndpointResource:
    return EndpointResource(sagemaker)


def test_generated_name_has_stack_and_logical_id(model: ModelResource) -> None:
    arn, attributes = model.create("TextModel", PROPERTIES, "Prod-Text")
    name = attributes["ModelName"]
    assert re.fullmatch(r"prod-text-textmodel-[0-9a-f]{12}", name)
    assert arn == f"{ARN}:model/{name}"
    assert model.create("TextModel", PROPERTIES, "Prod-Text")[0] != arn


def test_update_replaces_tags(model: ModelResource, hosting: EndpointOperations) -> None:
    def tags(**values: str) -> dict[str, Any]:
        return {**PROPERTIES, "Tags": [{"Key": k, "Value": v} for k, v in values.items()]}

    first, second = tags(team="search", stage="dev"), tags(team="ads", cost="1")
    arn, attributes = model.create("Logical", first, "stack")
    assert model.update(arn, first, second, "stack") == (arn, attributes)
    assert hosting.tags.list_tags({"ResourceArn": arn})["Tags"] == second["Tags"]
    model.update(arn, second, PROPERTIES, "stack")
    assert hosting.tags.list_tags({"ResourceArn": arn})["Tags"] == []


def test_refused_deletion_is_an_error(
    sagemaker: JsonService, endpoint: EndpointResource, fleets: Fleets
) -> None:
    fleets.ready.clear()
    sagemaker.call("CreateEndpoint", TEXT)
    with pytest.raises(ApiError, match="Cannot update in-progress endpoint"):
        endpoint.delete(f"{ARN}:endpoint/text", TEXT)


def test_failed_endpoint_fails_the_resource(endpoint: EndpointResource, fleets: Fleets) -> None:
    fleets.fail("out of memory")
    with pytest.raises(ValueError, match=r"^Endpoint Text Failed: out of memory$"):
        endpoint.create("Logical", TEXT, "stack")
    fleets.failure = None
    endpoint.create("Logical", TEXT, "stack")  # the name is free for the next deploy


def test_endpoint_creation_times_out(
    endpoint: EndpointResource, fleets: Fleets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cloudformation, "STABILIZE_SECONDS", 0.05)
    fleets.ready.clear()
    with pytest.raises(TimeoutError, match=r"^Endpoint Text did not stabilize within 0\.05 s$"):
        endpoint.create("Logical", TEXT, "stack")


@pytest.fixture
def component(sagemaker: JsonService, hosting: HostingOperations) -> InferenceComponentResource:
    create_components_endpoint(hosting, "Empty")
    return InferenceComponentResource(sagemaker)


@pytest.mark.parametrize("member", ["EndpointName", "InferenceComponentName", "VariantName"])
def test_component_cannot_be_moved_or_renamed(
    component: InferenceComponentResource, member: str
) -> None:
    arn, _ = component.create("Logical", REQUEST, "stack")
    with pytest.raises(ValueError, match=f"does not change {member} .*: use another logical id"):
        component.update(arn, REQUEST, {**REQUEST, member: "other"}, "stack")


def test_deletion_waits_for_a_scaling_component(
    component: InferenceComponentResource,
    hosting: HostingOperations,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arn, _ = component.create("Logical", REQUEST, "stack")
    clock.elapsed.clear()
    hosting.update_inference_component_runtime_config(
        {**TIMES, "DesiredRuntimeConfig": {"CopyCount": 2}}
    )
    monkeypatch.setattr("time.sleep", lambda _: clock.elapsed.set())
    component.delete(arn, REQUEST)
    assert hosting.components == {}
    component.delete(arn, REQUEST)  # a second deletion succeeds
