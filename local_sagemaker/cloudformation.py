"""Registration of additional resource types in ministack's CloudFormation."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from graphlib import TopologicalSorter
from typing import Any, Protocol

from botocore import xform_name
from botocore.exceptions import ClientError, ParamValidationError
from ministack.services.cloudformation import (
    _stack_events,
    _stacks,
    engine,
    handlers,
    provisioners,
    stacks,
)

from local_sagemaker.errors import ApiError

Created = tuple[str, dict[str, Any]]
"""A resource's physical id, and its attributes for Fn::GetAtt."""


class Service(Protocol):
    """The operations that a resource type calls."""

    def input_shape(self, name: str) -> Any:
        """Return botocore's shape of an operation's requests."""

    def call(self, name: str, request: dict[str, Any]) -> dict[str, Any]:
        """Return the response of an operation. Raise `ApiError`."""


class Client:
    """A service that is called with a boto3 client."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def input_shape(self, name: str) -> Any:
        """Return botocore's shape of an operation's requests."""
        return self._client.meta.service_model.operation_model(name).input_shape

    def call(self, name: str, request: dict[str, Any]) -> dict[str, Any]:
        """Return the response of an operation. Raise `ApiError`."""
        try:
            answer: dict[str, Any] = getattr(self._client, xform_name(name))(**request)
        except ClientError as error:
            details = error.response["Error"]
            raise ApiError(details["Code"], details["Message"]) from None
        except ParamValidationError as error:
            raise ApiError("ValidationException", str(error)) from None
        return answer


class ResourceType(ABC):
    """A CloudFormation resource type. Changing a property in `replacing` replaces the resource."""

    replacing: tuple[str, ...] = ()

    def __init__(self, service: Service) -> None:
        self._service = service

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Call an operation with properties of a template; return the response."""
        return self._service.call(
            operation, convert_types(request, self._service.input_shape(operation))
        )

    def call_if_exists(self, operation: str, request: dict[str, Any]) -> dict[str, Any] | None:
        """Call an operation; return the response, or None if the resource does not exist."""
        try:
            return self.call(operation, request)
        except ApiError as error:
            is_missing = error.code == "ObjectNotFoundException"
            if not is_missing and not error.message.startswith("Could not find"):
                raise
            return None

    @abstractmethod
    def create(self, logical_id: str, properties: dict[str, Any], stack: str) -> Created:
        """Create the resource; return its physical id and attributes."""

    @abstractmethod
    def update(
        self, physical_id: str, old: dict[str, Any], new: dict[str, Any], stack: str
    ) -> Created:
        """Update the resource in place; called if no property in `replacing` has changed."""

    @abstractmethod
    def delete(self, physical_id: str, properties: dict[str, Any]) -> None:
        """Delete the resource."""


def register(types: dict[str, ResourceType]) -> None:
    """Register resource types in ministack.

    This changes private tables of the pinned version of ministack. The types are provisioned on
    worker threads: creating an endpoint takes seconds, and its instances download archives from the
    same process meanwhile.
    """
    for name, handler in types.items():
        entry = {"create": handler.create, "update": handler.update, "delete": handler.delete}
        provisioners._RESOURCE_HANDLERS[name] = entry
        provisioners._REPLACING_PROPERTIES[name] = handler.replacing

    runs_on_worker_thread = stacks._runs_on_worker_thread
    stacks._runs_on_worker_thread = lambda name: name in types or runs_on_worker_thread(name)
    stacks._topological_sort = _creation_order
    stacks._delete_resource = _keep_during_failed_rollback(stacks._delete_resource)
    handlers._stack_has_no_updates = _without_metadata(handlers._stack_has_no_updates)


def _creation_order(resources: dict[str, Any], conditions: dict[str, bool]) -> list[str]:
    """Return the order in which resources are created, one after the other.

    "CloudFormation creates, updates, and deletes resources in parallel to the extent possible"
    (user guide, DependsOn attribute). Custom resources come last among resources that would start
    in parallel: on AWS their functions start slowly, and therefore see the changes of the others.
    """
    active = {
        name: resource
        for name, resource in resources.items()
        if conditions.get(resource.get("Condition", ""), True)
    }
    dependencies = {
        name: engine._extract_deps(resource, active.keys() - {name})
        for name, resource in active.items()
    }
    sorter, order = TopologicalSorter(dependencies), list[str]()
    sorter.prepare()
    while sorter.is_active():
        ready = sorter.get_ready()
        order += sorted(ready, key=lambda name: (active[name]["Type"].startswith("Custom::"), name))
        sorter.done(*ready)
    return order


def _without_metadata(has_no_updates: Callable[..., bool]) -> Callable[..., bool]:
    """Return `has_no_updates` without the section Metadata.

    "During a stack update, you cannot update the Metadata section by itself" (user guide, Metadata
    section). A resource's Metadata counts.
    """

    def without(template: dict[str, Any]) -> dict[str, Any]:
        return {section: value for section, value in template.items() if section != "Metadata"}

    def compare(stack: dict[str, Any], template: dict[str, Any], *options: Any) -> bool:
        before = {**stack, "_template": without(stack.get("_template", {}))}
        return has_no_updates(before, without(template), *options)

    return compare


def _keep_during_failed_rollback(delete: Callable[..., None]) -> Callable[..., None]:
    """Return a `delete` that keeps resources created by an update while its rollback fails.

    ministack deletes them even if the rollback failed, so that an endpoint which could not be
    rolled back loses its configuration. CloudFormation deletes them after a rollback, in
    UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS (user guide, view-stack-events: "the stack has been
    rolled back to its previous working state, but is still deleting any new resources"). Kept
    resources are deleted when a continued rollback succeeds.
    """

    def delete_resource(
        kind: str, physical_id: str, properties: Any, stack: str, logical_id: str
    ) -> None:
        if _rollback_has_failed(_stacks[stack]):
            raise RuntimeError("the resource is kept because the rollback failed")
        delete(kind, physical_id, properties, stack, logical_id)

    return delete_resource


def _rollback_has_failed(stack: dict[str, Any]) -> bool:
    """Return whether a resource of a rollback in progress could not be rolled back."""
    if stack["StackStatus"] != "UPDATE_ROLLBACK_IN_PROGRESS":
        return False
    for event in reversed(_stack_events[stack["StackId"]]):
        if event["ResourceStatus"] in ("UPDATE_FAILED", stack["StackStatus"]):
            return bool(event["ResourceStatus"] == "UPDATE_FAILED")
    return False


def convert_types(value: Any, shape: Any) -> Any:
    """Return properties converted to the types of an API shape; a template may have strings.

    Members that the shape lacks are unchanged: the service rejects them.
    """
    match shape.type_name, value:
        case "structure", dict():
            members = shape.members
            return {
                name: convert_types(member, members[name]) if name in members else member
                for name, member in value.items()
            }
        case "list", list():
            return [convert_types(element, shape.member) for element in value]
        case "boolean", str():
            return value.lower() == "true"
        case (("integer" | "long"), str()):
            return int(value)
        case (("float" | "double"), str() | int()):
            return float(value)
    return value
