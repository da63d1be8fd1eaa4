"""Validation of requests with botocore's service models, with the messages of AWS.

AWS reads a request first: a value of another type is a SerializationException (messages:
architect/dynalite, whose tests run on AWS). Then it lists all violations in one message. Sources of
the message: localstack/localstack, tests/aws/services (test_create_connection_validations); of
lists and maps: awslabs/aws-service-catalog-factory#279 and aws/sagemaker-python-sdk#314; of
sensitive values, which it omits: aws/aws-sdk-js#4203.
"""

import functools
import re
from base64 import b64decode
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

from botocore.model import ListShape, MapShape, Shape, StructureShape
from botocore.utils import parse_timestamp

from local_sagemaker.errors import ApiError
from local_sagemaker.validation.documented import documented_problems

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

ERROR_CODES = {
    "codebuild": "InvalidInputException",
    "ecr": "InvalidParameterException",
    "logs": "InvalidParameterException",
    "sagemaker-runtime": "ValidationError",
    "service-quotas": "IllegalArgumentException",
    "sns": "InvalidParameter",
    **dict.fromkeys(("cloudformation", "cloudwatch", "iam", "sts"), "ValidationError"),
}
"""Service -> error code of an invalid request; others have ValidationException (API references)."""

_INTEGERS = {"integer": 2**31, "long": 2**63}
_TYPES: dict[str, tuple[type, ...]] = {
    "structure": (dict,),
    "map": (dict,),
    "list": (list,),
    "boolean": (bool,),
    "blob": (str, bytes),
    "timestamp": (str, int, float, datetime),
    **dict.fromkeys(_INTEGERS, (int,)),
    **dict.fromkeys(("float", "double"), (int, float)),
}
"""Type of a shape -> types of its values; other shapes are texts."""
_RECORDED_SETS = (
    "INSUFFICIENT_DATA, ALARM, OK",
    "PredictiveScaling, StepScaling, TargetTrackingScaling",
)
"""Values of enumerations that AWS's messages list in another order than botocore's model. Sources:
tests/recorded/, SetAlarmState and PutScalingPolicy."""
_TOKENS = {str: "STRING_VALUE", int: "NUMBER_VALUE", float: "DECIMAL_VALUE"}


class BrokenConstraint(NamedTuple):
    """A violated constraint of a value; the value is None if the member is missing."""

    path: str
    value: Any
    constraint: str
    is_sensitive: bool = False

    def __str__(self) -> str:
        shown = "" if self.is_sensitive else f" '{_java_text(self.value)}'"
        shown = " null" if self.value is None else shown
        return f"Value{shown} at '{self.path}' failed to satisfy constraint: {self.constraint}"


def error_code(service: str) -> str:
    """Return the error code of an invalid request to a service."""
    return ERROR_CODES.get(service, "ValidationException")


def check_constraints(service: str, operation: str, request: Any, shape: Shape) -> None:
    """Raise `ApiError` for values of another type, and for violated constraints of the model."""
    try:
        violations = list(_violations(request, shape, ""))
    except RecursionError:
        raise ApiError("SerializationException", "The request is nested too deeply") from None
    missing = [violation.path for violation in violations if violation.value is None]
    if violations and service == "ec2":
        raise _ec2_error(violations[0], shape)
    if missing and service == "cloudwatch":  # sj26/sidekiq-cloudwatchmetrics#42
        names = (_form_name(path) for path in missing)
        message = "\n".join(f"The parameter {name} is required." for name in names)
        raise ApiError("MissingParameter", message)
    if not missing:
        check_rules(service, operation, request, preceding=True)
    if violations and f"{service}:{operation}" in METRIC_OPERATIONS:
        raise ApiError("InvalidParameterValue", "\n".join(map(_metric_text, violations)))
    if service == "lambda" and (runtimes := [v for v in violations if v.path == "runtime"]):
        message = str(runtimes[0]).replace(f"'{runtimes[0].value}'", runtimes[0].value)
        raise ApiError("InvalidParameterValueException", f"{message} or be a valid ARN")
    if violations:
        raise ApiError(error_code(service), _message(violations, service))


def check_rules(service: str, operation: str, request: Any, *, preceding: bool = False) -> None:
    """Raise `ApiError` for a violated rule of AWS's documents."""
    key = f"{service}:{operation}"
    for message, code in documented_problems(key, request, preceding=preceding):
        raise ApiError(code or error_code(service), message)


METRIC_OPERATIONS = (
    "cloudwatch:GetMetricStatistics", "cloudwatch:ListMetrics", "cloudwatch:PutMetricData"
)  # fmt: skip
"""Operations whose errors have other words than those of alarms."""


def _metric_text(violation: BrokenConstraint) -> str:
    """Return CloudWatch's text for a value of a metric operation.

    Sources: awslabs/collectd-cloudwatch#46, aws/amazon-cloudwatch-agent#240.
    """
    name = _form_name(violation.path)
    if values := re.search(r"enum value set: \[(.*?)\]", violation.constraint):
        return f"The parameter {name} must be a value in the set [ {values[1]} ]."
    if limit := re.search(r"length less than or equal to (\d+)", violation.constraint):
        if isinstance(violation.value, list):
            return f"The collection {name} must not have a size greater than {limit[1]}."
        return f"The parameter {name} must be shorter than {int(limit[1]) + 1} characters."
    return f"The value {violation.value} for parameter {name} is invalid."


def _ec2_error(violation: BrokenConstraint, shape: Any) -> ApiError:
    """Return EC2's error (API reference of EC2, "Error codes for the Amazon EC2 API")."""
    path, value, constraint, _ = violation
    if value is None:
        member = shape.members.get(path[:1].upper() + path[1:])
        name = member.serialization.get("name", path) if member else path
        message = f"The request must contain the parameter {name[:1].upper()}{name[1:]}"
        return ApiError("MissingParameter", message)
    if path == "instanceTypes":
        known = shape.members["InstanceTypes"].member.enum
        missing = ", ".join(name for name in value if name not in known)
        message = f"The following supplied instance types do not exist: [{missing}]"
        return ApiError("InvalidInstanceType", message)
    message = f"Value ({value}) for parameter {path} is invalid. {constraint}"
    return ApiError("InvalidParameterValue", message)


def _message(violations: list[BrokenConstraint], service: str) -> str:
    if service == "ecr":
        first = violations[0]
        constraint = first.constraint.replace("Member must", "must")
        constraint = re.sub("pattern: (.*)", r"'\1'", constraint)
        return f"Invalid parameter at '{first.path}' failed to satisfy constraint: '{constraint}'"
    plural = "" if len(violations) == 1 else "s"
    if service == "iam":  # its messages have neither the value nor the values of an enumeration
        violations = [violation._replace(is_sensitive=True) for violation in violations]
    texts = "; ".join(map(str, violations))
    if service == "iam":
        texts = re.sub(r"(enum value set): \[[^]]*\]", r"\1", texts)
    return f"{len(violations)} validation error{plural} detected: {texts}"


def _form_name(path: str) -> str:
    """Return a path as CloudWatch has it, such as MetricData.member.1.MetricName."""
    parts = re.sub(r"(\d+)\.member", r"member.\1", path).split(".")
    return ".".join(part if part == "member" else part[0].upper() + part[1:] for part in parts)


def _violations(value: Any, shape: Shape, path: str) -> Iterator[BrokenConstraint]:
    if shape.metadata.get("document"):
        return
    _check_type(value, shape)
    for constraint in _violated(value, shape):
        yield BrokenConstraint(path, value, constraint, bool(shape.metadata.get("sensitive")))
    if isinstance(shape, StructureShape):
        prefix = f"{path}." if path else ""
        for name in value.keys() - shape.members.keys():
            yield BrokenConstraint(f"{prefix}{name}", value[name], "Member must be known")
        for name, member in shape.members.items():
            inner_path = f"{prefix}{name[0].lower()}{name[1:]}"
            if name in value:
                yield from _violations(value[name], member, inner_path)
            elif name in shape.required_members:
                yield BrokenConstraint(inner_path, None, "Member must not be null")
    elif isinstance(shape, ListShape):
        elements = {f"{number}.member": element for number, element in enumerate(value, 1)}
        yield from _inner_violations(value, path, elements, shape.member, "Member")
    elif isinstance(shape, MapShape):
        yield from _inner_violations(
            value, path, dict(zip(value, value, strict=True)), shape.key, "Map keys"
        )
        values = {f"{key}.member": inner for key, inner in value.items()}
        yield from _inner_violations(value, path, values, shape.value, "Map value")


def _inner_violations(
    value: Any, path: str, inner: dict[str, Any], inner_shape: Shape, subject: str
) -> Iterator[BrokenConstraint]:
    """Yield the violations of elements; those of their own are one of their list or map."""
    for element in inner.values():
        _check_type(element, inner_shape)
    if any(True for element in inner.values() for _ in _violated(element, inner_shape)):
        constraints = ", ".join(_constraints(inner_shape).values())
        yield BrokenConstraint(path, value, f"{subject} must satisfy constraint: [{constraints}]")
        return
    for name, element in inner.items():
        yield from _violations(element, inner_shape, f"{path}.{name}")


def _java_text(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key}={_java_text(inner)}' for key, inner in value.items())}}}"
    return f"[{', '.join(map(_java_text, value))}]" if isinstance(value, list) else str(value)


def _constraints(shape: Shape) -> dict[str, str]:
    """Return the messages of a shape's constraints, in the order of AWS."""
    metadata = shape.metadata
    size = "value" if shape.type_name in (*_INTEGERS, "float", "double") else "length"
    messages = {
        "max": f"Member must have {size} less than or equal to {metadata.get('max')}",
        "min": f"Member must have {size} greater than or equal to {metadata.get('min')}",
        "pattern": f"Member must satisfy regular expression pattern: {metadata.get('pattern')}",
        "enum": f"Member must satisfy enum value set: [{_enum_text(metadata.get('enum', []))}]",
    }
    return {name: message for name, message in messages.items() if name in metadata}


def _enum_text(values: list[str]) -> str:
    same = (text for text in _RECORDED_SETS if sorted(text.split(", ")) == sorted(values))
    return next(same, ", ".join(values))


def _violated(value: Any, shape: Shape) -> Iterator[str]:
    """Yield the violated constraints of a value itself; values of other types violate none."""
    metadata, messages = shape.metadata, _constraints(shape)
    size = value if isinstance(value, int | float) else None
    if shape.type_name == "blob":
        size = len(value if isinstance(value, bytes) else b64decode(value))
    elif isinstance(value, list | dict) or (isinstance(value, str) and shape.type_name == "string"):
        size = len(value)
    if size is not None and size > metadata.get("max", size):
        yield messages["max"]
    if isinstance(value, str):
        pattern = _compile(metadata["pattern"]) if "pattern" in metadata else None
        if pattern and not pattern.fullmatch(value):
            yield messages["pattern"]
        if value not in metadata.get("enum", [value]):
            yield messages["enum"]
    if size is not None and size < metadata.get("min", size):
        yield messages["min"]


def _check_type(value: Any, shape: Shape) -> None:
    """Raise `ApiError` for a value of another type, or one that its type cannot hold."""
    kind = shape.type_name
    if kind in ("float", "double") and value in ("NaN", "Infinity", "-Infinity"):
        return
    expected = _TYPES.get(kind, (str,))
    is_of_type = isinstance(value, expected) and isinstance(value, bool) is (kind == "boolean")
    if is_of_type and not (kind in _INTEGERS and abs(value) >= _INTEGERS[kind]):
        try:
            if kind == "blob" and isinstance(value, str):
                b64decode(value, validate=True)
            elif kind == "timestamp" and not isinstance(value, datetime):
                parse_timestamp(value)
        except (OverflowError, RuntimeError, ValueError):
            raise ApiError("SerializationException", f"{value!r} is no {kind}") from None
        return
    if isinstance(value, dict):
        message = "Start of structure or map found where not expected"
    elif isinstance(value, list):
        message = f"Unrecognized collection type class java.lang.{kind.capitalize()}"
    else:
        token = f"{value}_VALUE".upper() if isinstance(value, bool) else _TOKENS.get(type(value))
        message = f"{token} cannot be converted to {kind.capitalize()}"
        if kind in ("structure", "map", "list"):
            message = "Unexpected field type"
    raise ApiError("SerializationException", message)


@functools.cache
def _compile(pattern: str) -> re.Pattern[str] | None:
    """Return a pattern of a model; None, which matches all, if it has no Python syntax."""
    for java, python in _PYTHON_BY_JAVA.items():
        pattern = pattern.replace(java, python)
    try:
        return re.compile(pattern)
    except re.error:
        return None
