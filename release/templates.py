"""CloudFormation templates of a cloud assembly: resources, references and values of properties."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

SUFFIX = ".template.json"
BOOTSTRAP_VERSION = re.compile(r"/cdk-bootstrap/\w+/version")

Template = dict[str, Any]


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

    `values` is the name of a reference or an import, or `resource.attribute` -> its value.
    """
    match value:
        case {"Ref": str(name)} | {"Fn::ImportValue": str(name)} if name in values:
            return values[name]
        case {"Fn::GetAtt": [str(name), str(attribute)]} if f"{name}.{attribute}" in values:
            return values[f"{name}.{attribute}"]
        case {"Fn::Join": [str(separator), list(parts)]}:
            return separator.join(resolve(part, values) for part in parts)
        case {"Fn::Sub": str(text)}:
            return re.sub(r"\$\{([^}!]+)\}", lambda match: resolve({"Ref": match[1]}, values), text)
        case dict() | list():
            raise Unresolved(json.dumps(value))
    return str(value)


def templates(assembly: Path) -> dict[str, Template]:
    """Return stack name -> template of the cloud assembly in a folder."""
    return {
        path.name.removesuffix(SUFFIX): json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(assembly.glob(f"*{SUFFIX}"))
    }


def has_transform(template: Mapping[str, Any]) -> bool:
    """Return whether CloudFormation would run a macro of the account on a template.

    CloudFormation runs macros even for a change set, and deploys their result, which no review has
    compared.
    """
    return "Transform" in template or '"Fn::Transform":' in json.dumps(template)


def reads_account(template: Mapping[str, Any]) -> bool:
    """Return whether a template takes values from the account at deploy time.

    By a dynamic reference, or a parameter that names an entry of Parameter Store
    (CloudFormation template reference, "dynamic references", "systems-manager-specific parameter
    types"); not the CDK's check of the bootstrap stack's version.
    """
    parameters = template.get("Parameters")
    return "{{" in json.dumps(template) or any(
        str(parameter.get("Type")).startswith("AWS::SSM::")
        and not BOOTSTRAP_VERSION.fullmatch(str(parameter.get("Default")))
        for parameter in (parameters.values() if isinstance(parameters, dict) else ())
        if isinstance(parameter, dict)
    )
