from functools import partial
from types import SimpleNamespace
from typing import Any

import pytest
from ministack.services.cloudformation import handlers, provisioners, stacks

from local_sagemaker import cloudformation
from local_sagemaker.api import JsonService
from local_sagemaker.cloudformation import Client, Created, ResourceType, convert_types
from local_sagemaker.errors import ApiError
from local_sagemaker.tests.conftest import ClientFor


class Lamp(ResourceType):
    """A resource type with a property whose change replaces the resource."""

    replacing = ("Colour",)

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def create(self, logical_id: str, properties: dict[str, Any], stack: str) -> Created:
        self.calls.append(("create", logical_id, properties, stack))
        return f"lamp-{properties['Colour']}", {"Watts": "5"}

    def update(
        self, physical_id: str, old: dict[str, Any], new: dict[str, Any], stack: str
    ) -> Created:
        self.calls.append(("update", physical_id, old, new, stack))
        return physical_id, {}

    def delete(self, physical_id: str, properties: dict[str, Any]) -> None:
        self.calls.append(("delete", physical_id, properties))


@pytest.fixture
def lamp(monkeypatch: pytest.MonkeyPatch) -> Lamp:
    """A registered resource type; ministack's tables are restored after the test."""
    for table in ("_RESOURCE_HANDLERS", "_REPLACING_PROPERTIES"):
        monkeypatch.setattr(provisioners, table, dict(getattr(provisioners, table)))
    for function in ("_delete_resource", "_runs_on_worker_thread", "_topological_sort"):
        monkeypatch.setattr(stacks, function, getattr(stacks, function))
    monkeypatch.setattr(handlers, "_stack_has_no_updates", handlers._stack_has_no_updates)
    lamp = Lamp()
    cloudformation.register({"Our::Lamp": lamp})
    return lamp


def test_registered_types_run_on_worker_threads(
    lamp: Lamp,
) -> None:
    assert stacks._runs_on_worker_thread("Our::Lamp")
    assert stacks._runs_on_worker_thread("Custom::Anything")
    assert not stacks._runs_on_worker_thread("AWS::SSM::Parameter")


def test_custom_resources_are_created_last(lamp: Lamp) -> None:
    resources: dict[str, Any] = {
        "Check": {"Type": "Custom::Check", "DependsOn": "Endpoint"},
        "Endpoint": {"Type": "Our::Lamp", "Properties": {"Config": {"Ref": "Model"}}},
        "Left": {"Type": "Our::Lamp", "Condition": "Never", "DependsOn": "Model"},
        "Model": {"Type": "Our::Lamp"},
        "Target": {"Type": "Our::Lamp", "DependsOn": ["Endpoint", "Left"]},
    }
    order = stacks._topological_sort(resources, {"Never": False})
    assert order == ["Model", "Endpoint", "Target", "Check"]


@pytest.mark.usefixtures("lamp")
@pytest.mark.parametrize(
    ("changes", "has_no_updates"),
    [
        ({}, True),
        ({"Metadata": {"a": 1}}, True),
        ({"Metadata": {"a": 1}, "Outputs": {"Digest": {"Value": "b"}}}, False),
        ({"Resources": {"Hall": {"Type": "Our::Lamp", "Metadata": {"a": 1}}}}, False),
    ],
)
@pytest.mark.parametrize("metadata", [{}, {"Metadata": {"a": 0}}])
def test_metadata_cannot_be_updated_alone(
    metadata: dict[str, Any], changes: dict[str, Any], has_no_updates: bool
) -> None:
    template = {"Resources": {"Hall": {"Type": "Our::Lamp"}}}
    stack = {"_template": {**template, **metadata}, "_resolved_params": {}}
    assert handlers._stack_has_no_updates(stack, {**template, **changes}, {}, []) is has_no_updates


def test_circular_dependency_is_refused(lamp: Lamp) -> None:
    resources = {
        name: {"Type": "Our::Lamp", "DependsOn": dependency} for name, dependency in ("ab", "ba")
    }
    with pytest.raises(ValueError, match="a"):
        stacks._topological_sort(resources, {})


@pytest.mark.parametrize(
    ("status", "events", "is_kept"),
    [
        ("UPDATE_ROLLBACK_IN_PROGRESS", ["UPDATE_ROLLBACK_IN_PROGRESS", "UPDATE_FAILED"], True),
        ("UPDATE_ROLLBACK_IN_PROGRESS", ["UPDATE_FAILED", "UPDATE_ROLLBACK_IN_PROGRESS"], False),
        ("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", ["UPDATE_FAILED"], False),
        ("ROLLBACK_IN_PROGRESS", ["CREATE_FAILED", "ROLLBACK_IN_PROGRESS"], False),
    ],
)
def test_new_resource_is_kept_if_the_rollback_fails(
    lamp: Lamp, monkeypatch: pytest.MonkeyPatch, status: str, events: list[str], is_kept: bool
) -> None:
    stack = {"StackId": "one", "StackStatus": status}
    monkeypatch.setattr(cloudformation, "_stacks", {"home": stack})
    messages = {"one": [{"ResourceStatus": event} for event in events]}
    monkeypatch.setattr(cloudformation, "_stack_events", messages)
    delete = partial(stacks._delete_resource, "Our::Lamp", "lamp-red", {}, "home", "Hall")
    if is_kept:
        with pytest.raises(RuntimeError, match="the resource is kept because the rollback failed"):
            delete()
    else:
        delete()
    assert bool(lamp.calls) is not is_kept


SAGEMAKER = JsonService("sagemaker")
AUTOSCALING = JsonService("application-autoscaling")
VARIANT = {"VariantName": "1", "InitialInstanceCount": "2", "InitialVariantWeight": "0.5"}
TRACKING = {"TargetValue": 60, "DisableScaleIn": "true"}


@pytest.mark.parametrize(
    ("service", "operation", "properties", "expected"),
    [
        (SAGEMAKER, "CreateEndpointConfig", {"ProductionVariants": [VARIANT], "Tags": []},
         {"ProductionVariants": [{"VariantName": "1", "InitialInstanceCount": 2,
            "InitialVariantWeight": 0.5}], "Tags": []}),
        (AUTOSCALING, "PutScalingPolicy", {"TargetTrackingScalingPolicyConfiguration": TRACKING},
         {"TargetTrackingScalingPolicyConfiguration": {"TargetValue": 60.0,
           "DisableScaleIn": True}}),
        (SAGEMAKER, "UpdateEndpoint",
         {"RetainAllVariantProperties": "False", "Unknown": {"Count": "1"}},
         {"RetainAllVariantProperties": False, "Unknown": {"Count": "1"}}),
        (SAGEMAKER, "CreateModel",
         {"EnableNetworkIsolation": True, "PrimaryContainer": {"Environment": {"A": "1"}}},
         {"EnableNetworkIsolation": True, "PrimaryContainer": {"Environment": {"A": "1"}}}),
        (SAGEMAKER, "CreateModel", {"PrimaryContainer": "text"}, {"PrimaryContainer": "text"}),
    ],
)  # fmt: skip
def test_properties_are_converted_to_api_types(
    service: JsonService, operation: str, properties: Any, expected: Any
) -> None:
    before = repr(properties)
    result = convert_types(properties, service.input_shape(operation))
    assert result == expected
    assert repr(result) == repr(expected)  # 60 == 60.0 and 1 == True otherwise
    assert repr(properties) == before


# Client of a service over HTTP


def test_client_raises_the_error_of_the_service(
    client_for: ClientFor,
) -> None:
    def refuse(_: dict[str, Any]) -> dict[str, Any]:
        raise ApiError("ResourceNotFoundException", "no such build")

    service = JsonService("codebuild", SimpleNamespace(batch_get_builds=refuse))
    client = Client(client_for("codebuild", service))
    with pytest.raises(ApiError) as refused:
        client.call("BatchGetBuilds", {"ids": ["a:1"]})
    assert (refused.value.code, refused.value.message) == (
        "ResourceNotFoundException",
        "no such build",
    )


def test_client_raises_validation_errors(client_for: ClientFor) -> None:
    client = Client(client_for("codebuild", JsonService("codebuild")))
    with pytest.raises(ApiError, match='Unknown parameter in input: "colour"') as refused:
        client.call("BatchGetBuilds", {"ids": ["a:1"], "colour": "red"})
    assert refused.value.code == "ValidationException"
