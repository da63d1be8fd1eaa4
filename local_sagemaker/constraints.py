"""Constraints of botocore's service models that botocore itself does not validate.

AWS lists all violations in one message (aws/amazon-sagemaker-examples#2236 and
aws-samples/sagemaker-ml-workflow-with-apache-airflow#3): `1 validation error detected: Value 'a b'
at 'productionVariants.1.member.modelName' failed to satisfy constraint: Member must satisfy regular
expression pattern: ...`.
"""

import functools
import re
from collections.abc import Iterator
from typing import Any

from botocore.model import ListShape, MapShape, Shape, StructureShape

from local_sagemaker.errors import ApiError

_JAVA = {
    r"\p{L}": r"\w",
    r"\p{N}": r"\d",
    r"\p{Z}": r" \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000",
    r"\p{Print}": r"[\x20-\x7e]",
    r"\uD800\uDC00-\uDBFF\uDFFF": r"\U00010000-\U0010ffff",
}
"""Java syntax in the models' regular expressions -> Python syntax."""


MAX_INTEGER = 2**31 - 1
"""Maximum of the type "integer" in botocore's models, which has 32 bits ("long" has 64)."""


def check_constraints(request: dict[str, Any], shape: Shape) -> None:
    """Raise `ApiError` if values are too long, too large, or do not match an enum or a pattern.

    botocore has validated types and required members before.
    """
    violations = list(_violations(request, shape, ""))
    if violations:
        errors = (
            "1 validation error" if len(violations) == 1 else f"{len(violations)} validation errors"
        )
        raise ApiError("ValidationException", f"{errors} detected: {'; '.join(violations)}")


def _violations(value: Any, shape: Shape, where: str) -> Iterator[str]:
    for rule in _broken(value, shape):
        yield f"Value '{value}' at '{where}' failed to satisfy constraint: {rule}"
    for inner, member, name in _members(value, shape):
        yield from _violations(inner, member, f"{where}.{name}" if where else name)


def _broken(value: Any, shape: Shape) -> Iterator[str]:
    most = shape.metadata.get("max", MAX_INTEGER if shape.type_name == "integer" else None)
    if isinstance(value, int | float) and most is not None and value > most:
        yield f"Member must have value less than or equal to {most}"
    if isinstance(value, str | list | dict) and most is not None and len(value) > most:
        yield f"Member must have length less than or equal to {most}"
    if not isinstance(value, str):
        return
    if shape.metadata.get("enum") and value not in shape.metadata["enum"]:
        yield f"Member must satisfy enum value set: [{', '.join(shape.metadata['enum'])}]"
    pattern = shape.metadata.get("pattern")
    if pattern and not _compiled(pattern).fullmatch(value):
        yield f"Member must satisfy regular expression pattern: {pattern}"


def _members(value: Any, shape: Shape) -> Iterator[tuple[Any, Shape, str]]:
    """Yield the parts of a value, each with its shape and its name in AWS's messages."""
    if isinstance(shape, StructureShape):
        for name, inner in value.items():
            yield inner, shape.members[name], name[0].lower() + name[1:]
    elif isinstance(shape, ListShape):
        for number, inner in enumerate(value, start=1):
            yield inner, shape.member, f"{number}.member"
    elif isinstance(shape, MapShape):
        for name, inner in value.items():
            yield name, shape.key, "key"
            yield inner, shape.value, name


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    for java, python in _JAVA.items():
        pattern = pattern.replace(java, python)
    return re.compile(pattern)
