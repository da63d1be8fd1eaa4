"""Supported members of requests, which supported.yaml lists; others are rejected by name."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml
from botocore.model import ListShape, MapShape, Shape, StructureShape

from local_sagemaker.errors import ApiError
from local_sagemaker.validation.model import error_code

SUPPORTED: dict[str, dict[str, list[str]]] = yaml.safe_load(
    Path(__file__).with_name("supported.yaml").read_text()
)
"""Service -> botocore structure -> supported members."""


def check_supported(service: str, request: dict[str, Any], shape: Shape) -> None:
    """Raise `ApiError` with all unsupported members of a request.

    An unsupported member is accepted if it is empty or False: the AWS CLI, Terraform and the CDK
    send such members.
    """
    reject_members(service, list(_unsupported(request, shape, SUPPORTED[service], "")))


def is_supported(shape: StructureShape, name: str, supported: dict[str, list[str]]) -> bool:
    """Return whether a member of a structure is supported."""
    return name in shape.required_members or name in supported.get(shape.name, ())


def reject_members(service: str, members: list[str]) -> None:
    """Raise `ApiError` with the names of unsupported members, unless the list is empty."""
    if members:
        raise ApiError(
            error_code(service),
            f"The local SageMaker does not support {', '.join(members)}: leave it out.",
        )


def _unsupported(
    value: Any, shape: Shape, supported: dict[str, list[str]], path: str
) -> Iterator[str]:
    if isinstance(shape, StructureShape) and isinstance(value, dict):
        for name, inner in value.items():
            inner_path = f"{path}.{name}".lstrip(".")
            if is_supported(shape, name, supported):
                yield from _unsupported(inner, shape.members[name], supported, inner_path)
            elif inner:
                yield inner_path
    elif isinstance(shape, ListShape) and isinstance(value, list):
        for number, inner in enumerate(value):
            yield from _unsupported(inner, shape.member, supported, f"{path}[{number}]")
    elif isinstance(shape, MapShape) and isinstance(value, dict):
        for name, inner in value.items():
            yield from _unsupported(inner, shape.value, supported, f"{path}.{name}")
