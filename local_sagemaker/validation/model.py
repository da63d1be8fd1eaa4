"""Validation of requests with botocore's service models: types, members, and constraints.

botocore itself does not validate patterns, enumerations and maxima.

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
from botocore.validate import ParamValidator

from local_sagemaker.errors import ApiError

_PYTHON_BY_JAVA = {
    r"\p{L}": r"\w",
    r"\p{N}": r"\d",
    r"\p{Z}": r" \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000",
    r"\p{Print}": r"[\x20-\x7e]",
    r"\uD800\uDC00-\uDBFF\uDFFF": r"\U00010000-\U0010ffff",
    r"\p{M}": r"\u0300-\u036f",
    r"\p{Graph}": r"\x21-\x7e\u00a1-\uffff",
    r"\p{XDigit}": "0-9A-Fa-f",
    "|(?i).*<script>.*</script>.*)": "|(?i:.*<script>.*</script>.*))",  # of budgets' names
}
"""Java syntax in the models' regular expressions -> Python syntax."""


MAX_INTEGER = 2**31 - 1
"""Maximum of the type "integer" in botocore's models, which has 32 bits ("long" has 64)."""


ERROR_CODES = {
    "codebuild": "InvalidInputException",
    "ecr": "InvalidParameterException",
    "logs": "InvalidParameterException",
    "sagemaker-runtime": "ValidationError",
    "service-quotas": "IllegalArgumentException",
    "sns": "InvalidParameter",
    **dict.fromkeys(("cloudformation", "cloudwatch", "ec2", "iam", "sts"), "ValidationError"),
}
"""Service -> error code of an invalid request; others have ValidationException (API references)."""


def check_types(request: Any, shape: Shape, *, code: str = "ValidationException") -> None:
    """Raise `ApiError` with this code for members of another type, missing and unknown ones."""
    try:
        report = ParamValidator().validate(request, shape)
    except RuntimeError as error:  # an impossible timestamp, or too deeply nested lists
        raise ApiError("SerializationException", str(error)) from None
    if report.has_errors():
        raise ApiError(code, report.generate_report())


def check_constraints(
    request: dict[str, Any], shape: Shape, *, code: str = "ValidationException"
) -> None:
    """Raise `ApiError` if values are too long or too large, or do not match an enum or a pattern.

    The caller has validated types and required members with botocore.
    """
    violations = list(_violations(request, shape, ""))
    if violations:
        errors = (
            "1 validation error" if len(violations) == 1 else f"{len(violations)} validation errors"
        )
        raise ApiError(code, f"{errors} detected: {'; '.join(violations)}")


def _violations(value: Any, shape: Shape, path: str) -> Iterator[str]:
    for constraint in _violated_constraints(value, shape):
        yield f"Value '{value}' at '{path}' failed to satisfy constraint: {constraint}"
    for inner, inner_shape, name in _members(value, shape):
        yield from _violations(inner, inner_shape, f"{path}.{name}" if path else name)


def _violated_constraints(value: Any, shape: Shape) -> Iterator[str]:
    maximum = shape.metadata.get("max", MAX_INTEGER if shape.type_name == "integer" else None)
    if isinstance(value, int | float) and maximum is not None and value > maximum:
        yield f"Member must have value less than or equal to {maximum}"
    if shape.type_name == "blob":  # in an encoding of the protocol
        return
    if isinstance(value, str | list | dict) and maximum is not None and len(value) > maximum:
        yield f"Member must have length less than or equal to {maximum}"
    if not isinstance(value, str):
        return
    if shape.metadata.get("enum") and value not in shape.metadata["enum"]:
        yield f"Member must satisfy enum value set: [{', '.join(shape.metadata['enum'])}]"
    pattern = shape.metadata.get("pattern")
    if pattern and (compiled := _compile(pattern)) and not compiled.fullmatch(value):
        yield f"Member must satisfy regular expression pattern: {pattern}"


def _members(value: Any, shape: Shape) -> Iterator[tuple[Any, Shape, str]]:
    """Yield the members or elements of a value, with their shapes and their names in messages."""
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
def _compile(pattern: str) -> re.Pattern[str] | None:
    """Return a pattern of a model; None, which matches all, if it has no Python syntax."""
    for java, python in _PYTHON_BY_JAVA.items():
        pattern = pattern.replace(java, python)
    try:
        return re.compile(pattern)
    except re.error:
        return None
