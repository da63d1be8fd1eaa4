"""What CloudFormation lets a property be, by the provider schemas that cfn-lint comes with."""

from functools import cache
from typing import Any

from cfnlint.schema.manager import PROVIDER_SCHEMA_MANAGER

Schema = dict[str, Any]
KeyPath = tuple[str | int, ...]

STATEMENT = ("Action", "Effect", "Principal", "Resource")
"""What a policy's statement needs, of which CloudFormation's schemas know nothing."""

POLICY = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Action": "s3:*", "Principal": "*", "Resource": "*"}],
}

MAX_DEPTH = 3
"""Objects in objects that a new property is made of, at most."""


def is_required(kind: str, steps: KeyPath) -> bool:
    """Whether a property may not be left out."""
    if kind.startswith("Custom::"):
        return len(steps) == 1  # they have no schema, and their providers read all
    if "Statement" in steps and steps[-1] in STATEMENT:
        return True
    parent = _at(kind, steps[:-1])
    return steps[-1] in parent.get("required", ())


def choices(kind: str, steps: KeyPath) -> list[Any]:
    """Return the values that a property may have, none where it may have any."""
    return list(_at(kind, steps).get("enum", ()))


def additions(kind: str, there: set[str]) -> dict[str, Any]:
    """Return name -> a value, for the properties of a type that may be set and are not there."""
    whole = _of(kind)
    read_only = {each.rpartition("/")[2] for each in whole.get("readOnlyProperties", ())}
    result = {}
    for name, schema in sorted(whole.get("properties", {}).items()):
        if name not in there | read_only:
            result[name] = _value(name, _resolved(whole, schema), whole, MAX_DEPTH)
    return {name: each for name, each in result.items() if each is not None}


@cache
def _of(kind: str) -> Schema:
    if kind.startswith("Custom::"):
        return {}
    schema: Schema = PROVIDER_SCHEMA_MANAGER.get_resource_schema("us-east-1", kind).schema
    return schema


def _at(kind: str, steps: KeyPath) -> Schema:
    whole = _of(kind)
    here = whole
    for step in steps:
        inner = here.get("items") if isinstance(step, int) else here.get("properties", {}).get(step)
        here = _resolved(whole, inner or {})
    return here


def _resolved(whole: Schema, schema: Schema) -> Schema:
    while "$ref" in schema:
        here: Any = whole
        for step in schema["$ref"].removeprefix("#/").split("/"):
            here = here[step]
        schema = here
    return schema


def _value(name: str, schema: Schema, whole: Schema, depth: int) -> Any:
    """Return a value that a schema allows by its form, None where that is too deep to make."""
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
                each: _value(each, _resolved(whole, inner[each]), whole, depth - 1)
                for each in expected
                if each in inner
            }
            return None if not parts or None in parts.values() else parts
    return None
