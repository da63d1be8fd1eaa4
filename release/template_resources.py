"""Resources of a CloudFormation template, references between them, and values of properties."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from release.tree import Template


class Unresolved(Exception):
    """A template value that only CloudFormation can resolve; the message is its JSON."""


def resources(template: Template, resource_type: str) -> Iterator[tuple[str, Any]]:
    """Yield the logical id and the properties of every resource of a type."""
    for name, resource in template.get("Resources", {}).items():
        if resource["Type"] == resource_type:
            yield name, resource.get("Properties", {})


def references(value: Any) -> Iterator[str]:
    """Yield the logical ids that a value refers to by Ref or Fn::GetAtt."""
    match value:
        case {"Ref": str(name)} | {"Fn::GetAtt": [str(name), _]}:
            yield name
        case dict():
            yield from references([*value.values()])
        case list():
            for item in value:
                yield from references(item)


def resolve(value: Any, values: Mapping[str, str]) -> str:
    """Return a text with its intrinsic functions resolved. Raise `Unresolved`.

    `values` is the name of a reference or an import -> its value.
    """
    match value:
        case {"Ref": str(name)} | {"Fn::ImportValue": str(name)} if name in values:
            return values[name]
        case {"Fn::Join": [str(separator), list(parts)]}:
            return separator.join(resolve(part, values) for part in parts)
        case {"Fn::Sub": str(text)}:
            return re.sub(r"\$\{([^}!]+)\}", lambda match: resolve({"Ref": match[1]}, values), text)
        case dict() | list():
            raise Unresolved(json.dumps(value))
    return str(value)
