from functools import partial
from typing import Any

import pytest
from ministack.services.cloudformation import provisioners, stacks

from local_sagemaker import cloudformation
from local_sagemaker.api import JsonService
from local_sagemaker.cloudformation import Client, Created, ResourceType, typed
from local_sagemaker.errors import ApiError
from local_sagemaker.tests.conftest import ClientFor


class Lamp(ResourceType):
    """A type whose colour cannot be changed."""

    replacing = ("Colour",)

    def __init__(self) -> None:
        self.done: list[tuple[Any, ...]] = []

    def create(self, logical_id: str, properties: dict[str, Any], stack: str) -> Created:
        self.done.append(("create", logical_id, properties, stack))
        return f"lamp-{properties['Colour']}", {"Watts": "5"}

    def update(
        self, physical_id: str, old: dict[str, Any], new: dict[str, Any], stack: str
    ) -> Created:
        self.done.append(("update", physical_id, old, new, stack))
        return physical_id, {}

    def delete(self, physical_id: str, properties: dict[str, Any]) -> None:
        self.done.append(("delete", physical_id, properties))


@pytest.fixture
def lamp(monkeypatch: pytest.MonkeyPatch) -> Lamp:
    """A registered type; ministack's tables are as they were afterwards."""
    for table in ("_RESOURCE_HANDLERS", "_REPLACING_PROPERTIES"):
        monkeypatch.setattr(provisioners, table, dict(getattr(provisioners, table)))
    for function in ("_delete_resource", "_runs_on_worker_thread", "_topological_sort"):
        monkeypatch.setattr(stacks, function, getattr(stacks, function))
    made = Lamp()
    cloudformation.register({"Our::Lamp": made})
    return made


def test_ministack_makes_changes_and_deletes_a_registered_type(lamp: Lamp) -> None:
    red, dim = {"Colour": "red"}, {"Colour": "red", "Dim": "1"}
    assert provisioners._provision_resource("Our::Lamp", "Hall", red, "home") == (
        "lamp-red",
        {"Watts": "5"},
    )
    physical_id, _ = provisioners._update_resource(
        "Our::Lamp", "lamp-red", red, dim, "home", "Hall", {}
    )
    assert physical_id == "lamp-red"
    provisioners._delete_resource("Our::Lamp", "lamp-red", dim, "home", "Hall")
    assert lamp.done == [
        ("create", "Hall", red, "home"),
        ("update", "lamp-red", red, dim, "home"),
        ("delete", "lamp-red", dim),
    ]


def test_a_change_of_a_replacing_property_makes_a_new_resource(lamp: Lamp) -> None:
    red, blue = {"Colour": "red"}, {"Colour": "blue"}
    physical_id, _ = provisioners._update_resource(
        "Our::Lamp", "lamp-red", red, blue, "home", "Hall", {}
    )
    assert physical_id == "lamp-blue"
    assert ("create", "Hall", blue, "home") in lamp.done
    assert not [each for each in lamp.done if each[0] == "update"]


def test_registered_types_are_provisioned_off_the_event_loop_and_others_as_before(
    lamp: Lamp,
) -> None:
    assert stacks._runs_on_worker_thread("Our::Lamp")
    assert stacks._runs_on_worker_thread("Custom::Anything")
    assert not stacks._runs_on_worker_thread("AWS::SSM::Parameter")


def test_of_resources_that_begin_together_custom_ones_come_last(lamp: Lamp) -> None:
    resources: dict[str, Any] = {
        "Check": {"Type": "Custom::Check", "DependsOn": "Endpoint"},
        "Endpoint": {"Type": "Our::Lamp", "Properties": {"Config": {"Ref": "Model"}}},
        "Left": {"Type": "Our::Lamp", "Condition": "Never", "DependsOn": "Model"},
        "Model": {"Type": "Our::Lamp"},
        "Target": {"Type": "Our::Lamp", "DependsOn": ["Endpoint", "Left"]},
    }
    order = stacks._topological_sort(resources, {"Never": False})
    assert order == ["Model", "Endpoint", "Target", "Check"]


def test_resources_in_a_circle_are_refused_as_by_ministack(lamp: Lamp) -> None:
    resources = {each: {"Type": "Our::Lamp", "DependsOn": other} for each, other in ("ab", "ba")}
    with pytest.raises(ValueError, match="a"):
        stacks._topological_sort(resources, {})


@pytest.mark.parametrize(
    ("status", "events", "kept"),
    [
        ("UPDATE_ROLLBACK_IN_PROGRESS", ["UPDATE_ROLLBACK_IN_PROGRESS", "UPDATE_FAILED"], True),
        ("UPDATE_ROLLBACK_IN_PROGRESS", ["UPDATE_FAILED", "UPDATE_ROLLBACK_IN_PROGRESS"], False),
        ("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", ["UPDATE_FAILED"], False),
        ("ROLLBACK_IN_PROGRESS", ["CREATE_FAILED", "ROLLBACK_IN_PROGRESS"], False),
    ],
)
def test_what_an_update_created_is_kept_where_its_rollback_fails(
    lamp: Lamp, monkeypatch: pytest.MonkeyPatch, status: str, events: list[str], kept: bool
) -> None:
    stack = {"StackId": "one", "StackStatus": status}
    monkeypatch.setattr(cloudformation, "_stacks", {"home": stack})
    messages = {"one": [{"ResourceStatus": event} for event in events]}
    monkeypatch.setattr(cloudformation, "_stack_events", messages)
    delete = partial(stacks._delete_resource, "Our::Lamp", "lamp-red", {}, "home", "Hall")
    if kept:
        with pytest.raises(RuntimeError, match="it is kept because the rollback failed"):
            delete()
    else:
        delete()
    assert bool(lamp.done) is not kept


SAGEMAKER = JsonService("sagemaker", {})
AUTOSCALING = JsonService("application-autoscaling", {})
VARIANT = {"VariantName": "1", "InitialInstanceCount": "2", "InitialVariantWeight": "0.5"}
TRACKING = {"TargetValue": 60, "DisableScaleIn": "true"}


@pytest.mark.parametrize(
    ("service", "operation", "properties", "expected"),
    [
        (
            SAGEMAKER,
            "CreateEndpointConfig",
            {"ProductionVariants": [VARIANT], "Tags": []},
            {
                "ProductionVariants": [
                    {"VariantName": "1", "InitialInstanceCount": 2, "InitialVariantWeight": 0.5}
                ],
                "Tags": [],
            },
        ),
        (
            AUTOSCALING,
            "PutScalingPolicy",
            {"TargetTrackingScalingPolicyConfiguration": TRACKING},
            {
                "TargetTrackingScalingPolicyConfiguration": {
                    "TargetValue": 60.0,
                    "DisableScaleIn": True,
                }
            },
        ),
        (
            SAGEMAKER,
            "UpdateEndpoint",
            {"RetainAllVariantProperties": "False", "Unknown": {"Count": "1"}},
            {"RetainAllVariantProperties": False, "Unknown": {"Count": "1"}},
        ),
        (
            SAGEMAKER,
            "CreateModel",
            {"EnableNetworkIsolation": True, "PrimaryContainer": {"Environment": {"A": "1"}}},
            {"EnableNetworkIsolation": True, "PrimaryContainer": {"Environment": {"A": "1"}}},
        ),
        (SAGEMAKER, "CreateModel", {"PrimaryContainer": "text"}, {"PrimaryContainer": "text"}),
    ],
)
def test_properties_get_the_types_of_the_api(
    service: JsonService, operation: str, properties: Any, expected: Any
) -> None:
    before = repr(properties)
    result = typed(properties, service.input_shape(operation))
    assert result == expected
    assert repr(result) == repr(expected)  # 60 == 60.0 and 1 == True otherwise
    assert repr(properties) == before


# A service that is asked over HTTP


def test_a_client_asks_the_service_that_listens(client_for: ClientFor) -> None:
    service = JsonService(
        "codebuild", {"BatchGetBuilds": lambda each: {"buildsNotFound": each["ids"]}}
    )
    answer = Client(client_for("codebuild", service)).call("BatchGetBuilds", {"ids": ["a:1"]})
    assert answer["buildsNotFound"] == ["a:1"]


def test_a_refusal_of_the_service_is_the_same_for_who_asks_it_over_http(
    client_for: ClientFor,
) -> None:
    def refuse(_: dict[str, Any]) -> dict[str, Any]:
        raise ApiError("ResourceNotFoundException", "no such build")

    client = Client(client_for("codebuild", JsonService("codebuild", {"BatchGetBuilds": refuse})))
    with pytest.raises(ApiError) as refused:
        client.call("BatchGetBuilds", {"ids": ["a:1"]})
    assert (refused.value.code, refused.value.message) == (
        "ResourceNotFoundException",
        "no such build",
    )


def test_what_the_sdk_refuses_is_refused_as_the_service_would(client_for: ClientFor) -> None:
    client = Client(client_for("codebuild", JsonService("codebuild", {})))
    with pytest.raises(ApiError, match='Unknown parameter in input: "colour"') as refused:
        client.call("BatchGetBuilds", {"ids": ["a:1"], "colour": "red"})
    assert refused.value.code == "ValidationException"
