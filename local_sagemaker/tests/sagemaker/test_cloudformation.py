import re
from typing import Any

import pytest

from local_sagemaker.api import JsonService
from local_sagemaker.errors import ApiError
from local_sagemaker.sagemaker import cloudformation
from local_sagemaker.sagemaker.cloudformation import (
    EndpointResource,
    InferenceComponent,
    ModelResource,
)
from local_sagemaker.sagemaker.components import Components
from local_sagemaker.sagemaker.hosting_api import Hosting
from local_sagemaker.tests.sagemaker.conftest import CONTAINER, FakeClock, Fleets
from local_sagemaker.tests.sagemaker.test_components import (
    REQUEST,
    SPECIFICATION,
    TIMES,
    create_host,
    described,
)

ARN = "arn:aws:sagemaker:us-east-1:000000000000"
ONE: dict[str, Any] = {"PrimaryContainer": CONTAINER}
TEXT = {"EndpointName": "Text", "EndpointConfigName": "one"}


@pytest.fixture
def model(sagemaker: JsonService) -> ModelResource:
    return ModelResource(sagemaker)


@pytest.fixture
def endpoint(sagemaker: JsonService) -> EndpointResource:
    return EndpointResource(sagemaker)


def describe(hosting: Hosting) -> dict[str, Any]:
    return hosting.describe_endpoint({"EndpointName": "Text"})


def test_a_named_resource_is_known_by_its_arn(model: ModelResource, hosting: Hosting) -> None:
    assert model.create("Logical", {**ONE, "ModelName": "MiniLM"}, "stack") == (
        f"{ARN}:model/minilm",
        {"ModelName": "MiniLM"},
    )
    assert hosting.describe_model({"ModelName": "MiniLM"})


def test_a_resource_without_a_name_gets_one_of_stack_and_logical_id(model: ModelResource) -> None:
    arn, attributes = model.create("TextModel", ONE, "Prod-Text")
    name = attributes["ModelName"]
    assert re.fullmatch(r"prod-text-textmodel-[0-9a-f]{12}", name)
    assert arn == f"{ARN}:model/{name}"
    assert model.create("TextModel", ONE, "Prod-Text")[0] != arn


def test_tags_follow_the_template(model: ModelResource, hosting: Hosting) -> None:
    def tags(**values: str) -> dict[str, Any]:
        return {**ONE, "Tags": [{"Key": key, "Value": each} for key, each in values.items()]}

    first, second = tags(team="search", stage="dev"), tags(team="ads", cost="1")
    arn, attributes = model.create("Logical", first, "stack")
    assert model.update(arn, first, second, "stack") == (arn, attributes)
    assert hosting.tags.list_tags({"ResourceArn": arn})["Tags"] == second["Tags"]
    model.update(arn, second, ONE, "stack")
    assert hosting.tags.list_tags({"ResourceArn": arn})["Tags"] == []


def test_a_resource_is_deleted_by_its_name_or_its_arn(
    model: ModelResource, hosting: Hosting
) -> None:
    named = {**ONE, "ModelName": "MiniLM"}
    model.delete(model.create("Logical", named, "stack")[0], named)
    model.delete(model.create("Logical", ONE, "stack")[0], {})
    assert [each["ModelName"] for each in hosting.list_models({})["Models"]] == ["m"]


def test_a_refused_deletion_is_an_error(
    sagemaker: JsonService, endpoint: EndpointResource, fleets: Fleets
) -> None:
    fleets.ready.clear()
    sagemaker.call("CreateEndpoint", TEXT)
    with pytest.raises(ApiError, match="Cannot update in-progress endpoint"):
        endpoint.delete(f"{ARN}:endpoint/text", TEXT)


def test_an_endpoint_that_fails_fails_the_resource_with_its_reason(
    endpoint: EndpointResource, fleets: Fleets
) -> None:
    fleets.fail("out of memory")
    with pytest.raises(ValueError, match=r"^Endpoint Text Failed: out of memory$"):
        endpoint.create("Logical", TEXT, "stack")
    fleets.failure = None
    endpoint.create("Logical", TEXT, "stack")  # the name is free for the next deploy


def test_an_update_that_was_rolled_back_fails_the_resource_with_its_reason(
    endpoint: EndpointResource, hosting: Hosting, fleets: Fleets
) -> None:
    arn, _ = endpoint.create("Logical", TEXT, "stack")
    fleets.fail("out of memory")
    with pytest.raises(
        ValueError, match=r"^the update of endpoint Text was rolled back: out of memory$"
    ):
        endpoint.update(arn, TEXT, {**TEXT, "EndpointConfigName": "two"}, "stack")
    assert describe(hosting)["EndpointConfigName"] == "one"


def test_a_change_of_how_updates_are_deployed_alone_deploys_the_same_configuration(
    endpoint: EndpointResource, hosting: Hosting, fleets: Fleets
) -> None:
    arn, _ = endpoint.create("Logical", TEXT, "stack")
    endpoint.update(arn, TEXT, {**TEXT, "DeploymentConfig": {}}, "stack")
    assert len(fleets.started) == 2
    assert describe(hosting)["EndpointConfigName"] == "one"


def test_an_endpoint_that_never_settles_fails_after_a_while(
    endpoint: EndpointResource, fleets: Fleets, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cloudformation, "STABILIZE_SECONDS", 0.05)
    fleets.ready.clear()
    with pytest.raises(TimeoutError, match=r"^Endpoint Text did not stabilize within 0\.05 s$"):
        endpoint.create("Logical", TEXT, "stack")


def test_a_deletion_ends_when_the_endpoint_is_gone(
    endpoint: EndpointResource, hosting: Hosting, fleets: Fleets, monkeypatch: pytest.MonkeyPatch
) -> None:
    arn, _ = endpoint.create("Logical", TEXT, "stack")
    fleets.quiet.clear()
    monkeypatch.setattr("time.sleep", lambda _: fleets.quiet.set())
    endpoint.delete(arn, TEXT)
    assert hosting.list_endpoints({})["Endpoints"] == []
    assert fleets.started[0].events == ["draining", "stopped"]


@pytest.fixture
def component(sagemaker: JsonService, hosting: Components) -> InferenceComponent:
    create_host(hosting, "Empty")
    return InferenceComponent(sagemaker)


CHANGED = {
    **REQUEST,
    "Specification": {
        **SPECIFICATION,
        "ComputeResourceRequirements": {"MinMemoryRequiredInMb": "2048"},  # as templates may say
    },
}


def test_a_component_is_in_service_when_it_is_created_and_after_its_updates(
    component: InferenceComponent, hosting: Components
) -> None:
    size = {"Type": "CAPACITY_PERCENT", "Value": 50}
    rolling = {"RollingUpdatePolicy": {"MaximumBatchSize": size, "WaitIntervalInSeconds": 0}}
    first = {**REQUEST, "DeploymentConfig": rolling}
    arn, attributes = component.create("Logical", first, "stack")
    assert attributes == {"InferenceComponentArn": arn}
    assert described(hosting)["InferenceComponentStatus"] == "InService"
    component.update(arn, first, {**CHANGED, "DeploymentConfig": rolling}, "stack")
    updated = described(hosting)
    assert updated["InferenceComponentStatus"] == "InService"
    assert updated["LastDeploymentConfig"] == rolling
    requirements = updated["Specification"]["ComputeResourceRequirements"]
    assert requirements["MinMemoryRequiredInMb"] == 2048
    component.delete(arn, REQUEST)
    assert hosting.components == {}


def test_a_component_that_fails_fails_the_resource_and_frees_its_name(
    component: InferenceComponent, hosting: Components, fleets: Fleets
) -> None:
    fleets.fail("no room")
    with pytest.raises(ValueError, match=r"^InferenceComponent times Failed: no room$"):
        component.create("Logical", REQUEST, "stack")
    assert hosting.components == {}


def test_an_update_of_a_component_that_was_rolled_back_fails_the_resource(
    component: InferenceComponent, fleets: Fleets
) -> None:
    arn, _ = component.create("Logical", REQUEST, "stack")
    for _ in range(2):
        fleets.fail("no room")
        with pytest.raises(ValueError, match=r"^the update of times was rolled back: no room$"):
            component.update(arn, REQUEST, CHANGED, "stack")


def test_an_update_to_what_a_component_serves_already_succeeds_after_one_that_failed(
    component: InferenceComponent, fleets: Fleets
) -> None:
    arn, _ = component.create("Logical", CHANGED, "stack")
    fleets.fail("no room")
    with pytest.raises(ValueError, match="rolled back"):
        component.update(arn, CHANGED, REQUEST, "stack")
    component.update(arn, REQUEST, CHANGED, "stack")  # the stack's own rollback


@pytest.mark.parametrize("member", ["EndpointName", "InferenceComponentName", "VariantName"])
def test_a_component_stays_where_it_is(component: InferenceComponent, member: str) -> None:
    arn, _ = component.create("Logical", REQUEST, "stack")
    with pytest.raises(ValueError, match=f"does not change {member} .*: use another logical id"):
        component.update(arn, REQUEST, {**REQUEST, member: "other"}, "stack")


def test_a_deletion_waits_for_a_component_that_scales(
    component: InferenceComponent,
    hosting: Components,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arn, _ = component.create("Logical", REQUEST, "stack")
    clock.filled.clear()
    hosting.update_inference_component_runtime_config(
        {**TIMES, "DesiredRuntimeConfig": {"CopyCount": 2}}
    )
    monkeypatch.setattr("time.sleep", lambda _: clock.filled.set())
    component.delete(arn, REQUEST)
    assert hosting.components == {}
    component.delete(arn, REQUEST)  # which a stack may do again
