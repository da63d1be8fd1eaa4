"""Valid values of properties, from the provider schemas of CloudFormation in cfn-lint."""

from functools import cache
from typing import Any

from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

Schema = dict[str, Any]
KeyPath = tuple[str | int, ...]

STATEMENT = ("Action", "Effect", "Principal", "Resource")
"""Required keys of a policy statement, which the schemas do not contain."""

POLICY = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": "s3:*", "Principal": "*", "Resource": "*"}],
}

MAX_DEPTH = 3
"""Maximum nesting of objects in a new property."""


def is_required(kind: str, steps: KeyPath) -> bool:
    """Return whether a property is required."""
    if kind.startswith("Custom::"):
        return len(steps) == 1  # without a schema; our providers need all properties
    if "Statement" in steps and steps[-1] in STATEMENT:
        return True
    parent = _property_schema(kind, steps[:-1])
    return steps[-1] in parent.get("required", ())


def choices(kind: str, steps: KeyPath) -> list[Any]:
    """Return the values of an enumeration, empty for other properties."""
    return list(_property_schema(kind, steps).get("enum", ()))


def additions(kind: str, existing: set[str]) -> dict[str, Any]:
    """Return name -> a value, for the properties of a type that can be added."""
    whole = _type_schema(kind)
    read_only = {path.rpartition("/")[2] for path in whole.get("readOnlyProperties", ())}
    result = {}
    for name, schema in sorted(whole.get("properties", {}).items()):
        if name not in existing | read_only:
            result[name] = _value(name, _resolved(whole, schema), whole, MAX_DEPTH)
    return {name: value for name, value in result.items() if value is not None}


@cache
def _type_schema(kind: str) -> Schema:
    if kind.startswith("Custom::"):
        return {}
    schema: Schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", kind).schema
    return schema


def _property_schema(kind: str, steps: KeyPath) -> Schema:
    whole = schema = _type_schema(kind)
    for step in steps:
        properties = schema.get("properties", {})
        part = schema.get("items") if isinstance(step, int) else properties.get(step)
        schema = _resolved(whole, part or {})
    return schema


def _resolved(whole: Schema, schema: Schema) -> Schema:
    while "$ref" in schema:
        target: Any = whole
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        schema = target
    return schema


def _value(name: str, schema: Schema, whole: Schema, depth: int) -> Any:
    """Return a value of the schema's type, None if it would be nested too deeply."""
    if name.endswith("PolicyDocument"):
        return POLICY
    if enum := schema.get("enum"):
        return enum[0]
    kind = schema.get("type")
    match kind[0] if isinstance(kind, list) else kind:
        case "boolean":
            return True
        case "integer" | "number":
            return schema.get("minimum", 1) or 1
        case "string":
            return "added"
        case "array" if depth:
            item = _value(name, _resolved(whole, schema.get("items", {})), whole, depth - 1)
            return None if item is None else [item]
        case "object" if depth:
            inner = schema.get("properties", {})
            expected = schema.get("required") or list(inner)[:1]
            parts = {
                key: _value(key, _resolved(whole, inner[key]), whole, depth - 1)
                for key in expected
                if key in inner
            }
            return None if not parts or None in parts.values() else parts
    return None
