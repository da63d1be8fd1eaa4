"""Resources of two logical IDs that are one object in AWS."""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from release.templates import Template
from review.comparison import Comparison
from review.dangers.danger import Danger
from review.stack_differences import ResourceChange

SCOPES = ("Groups", "ResourceId", "Roles", "ScalingTargetId", "Users", "VpcId")
"""Properties with the parent in which a name is unique."""

EFFECTS = {
    # Application Auto Scaling API reference, RegisterScalableTarget, DeregisterScalableTarget
    "AWS::ApplicationAutoScaling::ScalableTarget": "the creation takes over the existing target, "
    "and the deletion then deregisters it and deletes its scaling policies",
    # S3 API reference, PutBucketPolicy, DeleteBucketPolicy
    "AWS::S3::BucketPolicy": "the creation fails, or the deletion removes the new policy",
}
OTHER_EFFECT = "CloudFormation creates before it deletes, and the name exists: the update fails"

MAX_REFERENCES = 30
"""Maximum references within references: a template may refer to itself."""

Identity = tuple[tuple[str, str], ...]
"""Names and values of the properties that identify an object."""


def shared_identities(comparison: Comparison) -> Iterator[Danger]:
    """A created resource is the same object in AWS as a deleted one, such as a renamed construct.

    CloudFormation deletes old resources in the clean-up, after it has created the new ones. The
    properties are the primary identifiers of the resource types' schemas.
    """
    resolvers = [_Resolver(side) for side in comparison.templates]
    deleted: dict[tuple[str, Identity], ResourceChange] = {}
    created: dict[tuple[str, Identity], ResourceChange] = {}
    for change in comparison.changes:
        if not comparison.is_moved and not (change.before and change.after):
            side, changes = (0, deleted) if change.before else (1, created)
            if identity := resolvers[side].identity(change.stack, change.id):
                changes[change.type, identity] = change
    for (kind, identity), new in created.items():
        if old := deleted.get((kind, identity)):
            properties = ", ".join(f"{name} {value}" for name, value in identity)
            paths = [f"{side.stack}/{side.path} ({side.id})" for side in (old, new)]
            yield Danger(
                f"{new.stack}.{old.id}.{new.id}",
                f"{kind} {paths[0]}: is one object in AWS with the new {paths[1]} ({properties}): "
                f"{EFFECTS.get(kind, OTHER_EFFECT)}. Keep the logical ID (override_logical_id), or "
                "deploy the deletion first",
                group=f"{new.stack}.{kind}",
            )


@cache
def _identifiers(kind: str) -> tuple[str, ...]:
    """Return the properties that identify an object of a type, empty if AWS names all objects.

    If AWS assigns the primary identifier, such as an ARN, the name and its scope take its place.
    """
    spec = find_spec("cfnlint")
    assert spec
    assert spec.submodule_search_locations
    schemas = Path(spec.submodule_search_locations[0], "data", "schemas")
    files = json.loads((schemas / "providers" / "us-east-1.json").read_text(encoding="utf-8"))
    if kind not in files:
        return ()
    schema = json.loads((schemas / "resources" / f"{files[kind]}.json").read_text(encoding="utf-8"))
    primary = [path.removeprefix("/properties/") for path in schema.get("primaryIdentifier", ())]
    assigned = [path.removeprefix("/properties/") for path in schema.get("readOnlyProperties", ())]
    if not {*primary} & {*assigned}:
        return (*primary,)
    last = kind.rpartition("::")[2]
    names = [
        name
        for name in schema["properties"]
        if name.endswith("Name") and last.endswith(name.removesuffix("Name"))
    ]
    scopes = [name for name in SCOPES if name in schema["properties"]]
    return (*names, *scopes) if names else ()


class _Resolver:
    """Values of properties in the templates of a stage, with references to names."""

    def __init__(self, templates: Mapping[str, Template]) -> None:
        self._templates = templates
        self._exports: dict[str, tuple[str, Any]] = {
            str(output["Export"].get("Name")): (stack, output.get("Value"))
            for stack, template in templates.items()
            for output in template.get("Outputs", {}).values()
            if "Export" in output
        }

    def identity(self, stack: str, logical_id: str, depth: int = 0) -> Identity | None:
        """Return the identity of a resource, None if CloudFormation or AWS names it."""
        resource = self._templates[stack]["Resources"][logical_id]
        properties, names = resource.get("Properties", {}), _identifiers(resource["Type"])
        present = [name for name in names if name in properties]
        if not present or not {*names} <= {*present, *SCOPES}:
            return None
        values = ((name, self._text(stack, properties[name], depth + 1)) for name in present)
        return tuple(values)

    def _text(self, stack: str, value: Any, depth: int) -> str:
        if depth > MAX_REFERENCES:
            return json.dumps(value)
        match value:
            case str():
                return value
            case {"Ref": str(name)}:
                return self._reference(stack, name, "Ref", depth)
            case {"Fn::GetAtt": [str(name), str(attribute)]}:
                return self._reference(stack, name, attribute, depth)
            case {"Fn::ImportValue": str(name)} if name in self._exports:
                return self._text(*self._exports[name], depth + 1)
            case {"Fn::Join": [str(separator), list(parts)]}:
                return separator.join(self._text(stack, part, depth + 1) for part in parts)
            case list():
                return ", ".join(self._text(stack, part, depth + 1) for part in value)
        return json.dumps(value)

    def _reference(self, stack: str, name: str, attribute: str, depth: int) -> str:
        resource = self._templates[stack].get("Resources", {}).get(name)
        if resource is None:
            return f"${{{name}}}"
        if attribute in resource.get("Properties", {}):
            return self._text(stack, resource["Properties"][attribute], depth + 1)
        identity = self.identity(stack, name, depth) or [(attribute, f"{stack}/{name}")]
        return "|".join(value for _, value in identity)
