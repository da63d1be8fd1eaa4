"""Who may do what on what, out of the policies in a template."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from review.templates import Template


@dataclass(frozen=True, order=True)
class Grant:
    """One action allowed. `who` and `resource` are as people read them, `condition` is JSON."""

    who: str
    action: str
    resource: str
    condition: str

    def __str__(self) -> str:
        only = f" if {self.condition}" if self.condition else ""
        return f"{self.who} may {self.action} on {self.resource}{only}"


def in_words(found: set[Grant]) -> list[str]:
    """Return one sentence for each who and resource, with all actions."""
    pairs = sorted({(grant.who, grant.resource, grant.condition) for grant in found})
    said = []
    for who, resource, condition in pairs:
        actions = sorted(
            it.action
            for it in found
            if (it.who, it.resource, it.condition) == (who, resource, condition)
        )
        only = f" if {condition}" if condition else ""
        said.append(f"{who} may {', '.join(actions)} on {resource}{only}")
    return said


_ASSET = re.compile(r"\b[0-9a-f]{64}\b")
"""An asset's hash, which changes with its content and opens nothing else."""

_DOCUMENTS = ("PolicyDocument", "AssumeRolePolicyDocument", "KeyPolicy")


def grants(template: Template) -> set[Grant]:
    """Return every grant of a template's policies, one an action."""
    resources = template.get("Resources", {})
    return {
        grant
        for logical_id, resource in resources.items()
        for name in _DOCUMENTS
        for statement in _statements(resource.get("Properties", {}).get(name))
        for grant in _of_statement(statement, logical_id, resource, resources)
    } | set(_inline(resources))


def _inline(resources: dict[str, Any]) -> Iterator[Grant]:
    for logical_id, resource in resources.items():
        properties = resource.get("Properties", {})
        for policy in properties.get("Policies", ()):
            for statement in _statements(policy.get("PolicyDocument")):
                yield from _of_statement(statement, logical_id, resource, resources)
        for arn in properties.get("ManagedPolicyArns", ()):
            yield Grant(_called(logical_id, resources), "everything in", _shown(arn, resources), "")


def _statements(document: Any) -> list[dict[str, Any]]:
    return list((document or {}).get("Statement", ()))


def _of_statement(
    statement: dict[str, Any],
    logical_id: str,
    resource: dict[str, Any],
    resources: dict[str, Any],
) -> Iterator[Grant]:
    if statement.get("Effect") != "Allow":
        return
    condition = statement.get("Condition")
    said = json.dumps(condition, sort_keys=True) if condition else ""
    itself = _called(logical_id, resources)
    for who in _principals(statement, resource, itself, resources):
        for action in _listed(statement.get("Action")):
            for on in _listed(statement.get("Resource", {"Ref": logical_id})):
                place = itself if on in ("*", {"Ref": logical_id}) and _guards(resource) else on
                yield Grant(who, action, _ASSET.sub("<asset>", _shown(place, resources)), said)


def _guards(resource: dict[str, Any]) -> bool:
    """Whether a policy is a resource's own, where "*" means the resource."""
    return resource["Type"] in ("AWS::KMS::Key", "AWS::IAM::Role")


def _principals(
    statement: dict[str, Any], resource: dict[str, Any], itself: str, resources: dict[str, Any]
) -> list[str]:
    if "Principal" not in statement:
        roles = resource.get("Properties", {}).get("Roles", ())
        return [_shown(role, resources) for role in roles] or [itself]
    principal = statement["Principal"]
    if principal == "*":
        return ["anyone"]
    return [
        "anyone" if it == "*" else _shown(it, resources)
        for kind in sorted(principal)
        for it in _listed(principal[kind])
    ]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _called(logical_id: str, resources: dict[str, Any]) -> str:
    path: str = resources[logical_id].get("Metadata", {}).get("aws:cdk:path", logical_id)
    return path.removesuffix("/Resource").removesuffix("/Default")


def _shown(value: Any, resources: dict[str, Any]) -> str:
    """Return an intrinsic function as text: resources by their construct path."""
    match value:
        case str():
            return value
        case {"Ref": str(name)}:
            return _called(name, resources) if name in resources else f"${{{name}}}"
        case {"Fn::GetAtt": [str(name), *_]} if name in resources:
            return _called(name, resources)
        case {"Fn::Join": [str(joint), list(parts)]}:
            return joint.join(_shown(part, resources) for part in parts)
        case {"Fn::ImportValue": str(name)}:
            return name.partition(":ExportsOutput")[0] + ":" + name.partition(":ExportsOutput")[2]
        case {"Fn::Sub": str(text)}:
            return text
    return json.dumps(value, sort_keys=True)
