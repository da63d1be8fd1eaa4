"""Resource types that ministack's CloudFormation lacks."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from graphlib import TopologicalSorter
from typing import Any, Protocol

from botocore import xform_name
from botocore.exceptions import ClientError, ParamValidationError
from ministack.services.cloudformation import _stack_events, _stacks, engine, provisioners, stacks

from local_sagemaker.errors import ApiError

Created = tuple[str, dict[str, Any]]
"""A resource's physical id, and the attributes that Fn::GetAtt finds."""


class Service(Protocol):
    """The operations that a resource type calls."""

    def input_shape(self, name: str) -> Any:
        """Return botocore's shape of an operation's requests."""

    def call(self, name: str, request: dict[str, Any]) -> dict[str, Any]:
        """Return what an operation answers. Raises `ApiError`."""


class Client:
    """A service that is called as any client calls it; `client` is boto3's."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def input_shape(self, name: str) -> Any:
        """Return botocore's shape of an operation's requests."""
        return self._client.meta.service_model.operation_model(name).input_shape

    def call(self, name: str, request: dict[str, Any]) -> dict[str, Any]:
        """Return what an operation answers. Raises `ApiError`."""
        try:
            answer: dict[str, Any] = getattr(self._client, xform_name(name))(**request)
        except ClientError as error:
            details = error.response["Error"]
            raise ApiError(details["Code"], details["Message"]) from None
        except ParamValidationError as error:
            raise ApiError("ValidationException", str(error)) from None
        return answer


class ResourceType(ABC):
    """A CloudFormation type. A change of a property in `replacing` makes a new resource."""

    replacing: tuple[str, ...] = ()

    def __init__(self, service: Service) -> None:
        self._service = service

    def call(self, operation: str, request: dict[str, Any]) -> dict[str, Any]:
        """Return the answer of an operation to properties of a template. Raise `ApiError`."""
        return self._service.call(operation, typed(request, self._service.input_shape(operation)))

    def call_if_found(self, operation: str, request: dict[str, Any]) -> dict[str, Any] | None:
        """Return the answer of an operation, or None if what the request names is not there."""
        try:
            return self.call(operation, request)
        except ApiError as error:
            absent = error.code == "ObjectNotFoundException"
            if not absent and not error.message.startswith("Could not find"):
                raise
            return None

    @abstractmethod
    def create(self, logical_id: str, properties: dict[str, Any], stack: str) -> Created:
        """Make the resource."""

    @abstractmethod
    def update(
        self, physical_id: str, old: dict[str, Any], new: dict[str, Any], stack: str
    ) -> Created:
        """Change the resource in place: nothing in `replacing` differs."""

    @abstractmethod
    def delete(self, physical_id: str, properties: dict[str, Any]) -> None:
        """Delete the resource."""


def register(types: dict[str, ResourceType]) -> None:
    """Teach ministack the types.

    These are ministack's private tables: the pinned version is the one this was tried with.
    Provisioning runs on worker threads, since an endpoint takes seconds, and while it starts its
    instances ask the same emulator for archives.
    """
    for name, handler in types.items():
        entry = {"create": handler.create, "update": handler.update, "delete": handler.delete}
        provisioners._RESOURCE_HANDLERS[name] = entry
        provisioners._REPLACING_PROPERTIES[name] = handler.replacing

    blocking = stacks._runs_on_worker_thread
    stacks._runs_on_worker_thread = lambda name: name in types or blocking(name)
    stacks._topological_sort = _in_order
    stacks._delete_resource = _after_rollback(stacks._delete_resource)


def _in_order(resources: dict[str, Any], conditions: dict[str, bool]) -> list[str]:
    """Return the order in which resources are made, one after the other.

    "CloudFormation creates, updates, and deletes resources in parallel to the extent possible"
    (user guide, DependsOn attribute). Of those that begin together, custom resources come last:
    their functions take longer to start than other resources to change, and see those changes.
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


def _after_rollback(delete: Callable[..., None]) -> Callable[..., None]:
    """Keep what an update has created until all that it has changed is rolled back.

    Where that fails, ministack deletes it nevertheless, and an endpoint that could not be updated
    back loses the configuration that it serves with. CloudFormation deletes it after a rollback, in
    UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS (user guide, view-stack-events: "the stack has been
    rolled back to its previous working state, but is still deleting any new resources"). What is
    kept is deleted when the rollback is continued, and succeeds.
    """

    def deleted(kind: str, physical_id: str, properties: Any, stack: str, logical_id: str) -> None:
        if _rollback_fails(_stacks[stack]):
            raise RuntimeError("it is kept because the rollback failed")
        delete(kind, physical_id, properties, stack, logical_id)

    return deleted


def _rollback_fails(stack: dict[str, Any]) -> bool:
    """Whether a rollback is under way in which a resource could not be changed back."""
    if stack["StackStatus"] != "UPDATE_ROLLBACK_IN_PROGRESS":
        return False
    for event in reversed(_stack_events[stack["StackId"]]):
        if event["ResourceStatus"] in ("UPDATE_FAILED", stack["StackStatus"]):
            return bool(event["ResourceStatus"] == "UPDATE_FAILED")
    return False


def typed(value: Any, shape: Any) -> Any:
    """Return properties with the types of a shape of the API; templates may hold strings.

    What the shape does not have is left for the service to refuse.
    """
    match shape.type_name, value:
        case "structure", dict():
            members = shape.members
            return {
                name: typed(part, members[name]) if name in members else part
                for name, part in value.items()
            }
        case "list", list():
            return [typed(part, shape.member) for part in value]
        case "boolean", str():
            return value.lower() == "true"
        case (("integer" | "long"), str()):
            return int(value)
        case (("float" | "double"), str() | int()):
            return float(value)
    return value
