"""Valid values of properties, from the provider schemas of CloudFormation in cfn-lint."""

from functools import cache
from typing import Any

from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

Schema = dict[str, Any]
KeyPath = tuple[str | int, ...]

STATEMENT = ("Action", "Effect", "Principal", "Resource")
"""Required keys of a policy statement; the schemas do not contain them."""

POLICY = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": "s3:*", "Principal": "*", "Resource": "*"}],
}

MAX_DEPTH = 3
"""Maximum nesting of objects in a new property."""


def is_required(resource_type: str, steps: KeyPath) -> bool:
    """Return whether a property is required."""
    if resource_type.startswith("Custom::"):
        return len(steps) == 1  # has no schema; our custom resources need all properties
    if "Statement" in steps and steps[-1] in STATEMENT:
        return True
    parent = _property_schema(resource_type, steps[:-1])
    return steps[-1] in parent.get("required", ())


def choices(resource_type: str, steps: KeyPath) -> list[Any]:
    """Return the values of an enumeration, empty for other properties."""
    return list(_property_schema(resource_type, steps).get("enum", ()))


def additions(resource_type: str, existing: set[str]) -> dict[str, Any]:
    """Return name -> a value, for the properties of a type that can be added."""
    type_schema = _type_schema(resource_type)
    read_only = {path.rpartition("/")[2] for path in type_schema.get("readOnlyProperties", ())}
    result = {}
    for name, schema in sorted(type_schema.get("properties", {}).items()):
        if name not in existing | read_only:
            result[name] = _value(name, _resolved(type_schema, schema), type_schema, MAX_DEPTH)
    return {name: value for name, value in result.items() if value is not None}


@cache
def _type_schema(resource_type: str) -> Schema:
    if resource_type.startswith("Custom::"):
        return {}
    schema: Schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", resource_type).schema
    return schema


def _property_schema(resource_type: str, steps: KeyPath) -> Schema:
    type_schema = schema = _type_schema(resource_type)
    for step in steps:
        properties = schema.get("properties", {})
        inner_schema = schema.get("items") if isinstance(step, int) else properties.get(step)
        schema = _resolved(type_schema, inner_schema or {})
    return schema


def _resolved(type_schema: Schema, schema: Schema) -> Schema:
    while "$ref" in schema:
        target: Any = type_schema
        for step in schema["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        schema = target
    return schema


def _value(name: str, schema: Schema, type_schema: Schema, depth: int) -> Any:
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
            item_schema = _resolved(type_schema, schema.get("items", {}))
            item = _value(name, item_schema, type_schema, depth - 1)
            return None if item is None else [item]
        case "object" if depth:
            properties = schema.get("properties", {})
            values = {
                key: _value(key, _resolved(type_schema, properties[key]), type_schema, depth - 1)
                for key in schema.get("required") or list(properties)[:1]
                if key in properties
            }
            return None if not values or None in values.values() else values
    return None
