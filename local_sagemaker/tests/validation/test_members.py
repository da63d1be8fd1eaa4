"""Members of requests: each is supported, or refused by name."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import MagicMock

import pytest
from botocore.model import ListShape, MapShape, Shape, StructureShape

import local_sagemaker
from local_sagemaker.api import JsonService
from local_sagemaker.autoscaling.service import AutoScaling
from local_sagemaker.codebuild.builds import CodeBuild
from local_sagemaker.errors import ApiError
from local_sagemaker.quotas import AccountQuotas
from local_sagemaker.sagemaker.component_operations import HostingOperations
from local_sagemaker.sagemaker.tags import Tags
from local_sagemaker.tests.conftest import BOTOCORE
from local_sagemaker.validation.members import SUPPORTED, check_supported, is_supported

UNUSED: Any = MagicMock()
SERVICES = {
    "application-autoscaling": AutoScaling(UNUSED, UNUSED, speed=1).service,
    "codebuild": CodeBuild(clients=UNUSED, folder=UNUSED, environment={}).service,
    "sagemaker": JsonService("sagemaker", HostingOperations, Tags),
    "service-quotas": AccountQuotas().service,
}
"""The services that the local SageMaker answers itself."""


def requests(
    shape: Shape, supported: dict[str, list[str]], visited: tuple[str, ...] = ()
) -> Iterator[tuple[Any, str, bool]]:
    """Yield a request for each member below a shape, its path, and whether it is supported.

    Members below an unsupported member are not visited.
    """
    if isinstance(shape, StructureShape) and shape.name not in visited:
        required = {name: value(shape.members[name]) for name in shape.required_members}
        for name, member in shape.members.items():
            is_member_supported = is_supported(shape, name, supported)
            yield {**required, name: value(member)}, name, is_member_supported
            inner_requests = (
                requests(member, supported, (*visited, shape.name)) if is_member_supported else ()
            )
            for inner, path, inner_supported in inner_requests:
                joined = f"{name}{path}" if path.startswith("[") else f"{name}.{path}"
                yield {**required, name: inner}, joined, inner_supported
    elif isinstance(shape, ListShape):
        for inner, path, is_member_supported in requests(shape.member, supported, visited):
            yield [inner], f"[0].{path}", is_member_supported
    elif isinstance(shape, MapShape):
        for inner, path, is_member_supported in requests(shape.value, supported, visited):
            yield {"a": inner}, f"a.{path}", is_member_supported


def value(shape: Shape) -> Any:
    """Return a value of a shape's type that is not empty."""
    length = max(1, shape.metadata.get("min", 1))
    if isinstance(shape, StructureShape):
        names = shape.required_members or list(shape.members)[:1]
        return {name: value(shape.members[name]) for name in names}
    if isinstance(shape, ListShape):
        return [value(shape.member)] * length
    if isinstance(shape, MapShape):
        return {"a": value(shape.value)}
    return {"string": "a" * length, "boolean": True}.get(shape.type_name, length)


@pytest.mark.parametrize("name", SERVICES)
def test_unsupported_members_are_refused_by_name(name: str) -> None:
    for operation in SERVICES[name].operations:
        shape: Any = BOTOCORE.get_service_model(name).operation_model(operation).input_shape
        for request, path, supported in requests(shape, SUPPORTED[name]):
            message = refusal(name, request, shape)
            match = re.search(r"does not support (.*): leave it out", message)
            assert (path in (match[1].split(", ") if match else [])) is not supported, request


def refusal(service: str, request: dict[str, Any], shape: Shape) -> str:
    try:
        check_supported(service, request, shape)
    except ApiError as error:
        return error.message
    return ""


@pytest.mark.parametrize("service", SERVICES)
def test_supported_members_are_used(service: str) -> None:
    model = BOTOCORE.get_service_model(service)
    package = service.removesuffix("-runtime").removeprefix("application-")
    root = Path(local_sagemaker.__file__).parent
    files = [*(root / package).glob("*.py"), *(root / "hosting").glob("*.py"), *root.glob("*.py")]
    files.append(root / "validation" / "hosting.py")
    code = "".join(file.read_text() for file in files if file.name != "cloudformation.py")
    described_names = {
        name
        for operation in model.operation_names
        if operation.startswith(("Describe", "BatchGet"))
        for shape in structures(model.operation_model(operation).output_shape)
        for name in shape.members
    }
    for shape_name, names in SUPPORTED[service].items():
        shape: Any = model.shape_for(shape_name)
        assert set(names) <= set(shape.members)
        for name in names:
            header = shape.members[name].serialization.get("name", name)
            used = f'"{name}"' in code or f'b"{header.lower()}"' in code
            assert used or name in described_names, (shape_name, name)


def structures(shape: Shape | None, visited: frozenset[str] = frozenset()) -> Iterator[Any]:
    """Yield a shape and the structures below it."""
    if isinstance(shape, StructureShape) and shape.name not in visited:
        yield shape
        for member in shape.members.values():
            yield from structures(member, visited | {shape.name})
    elif isinstance(shape, ListShape):
        yield from structures(shape.member, visited)
    elif isinstance(shape, MapShape):
        yield from structures(shape.value, visited)
