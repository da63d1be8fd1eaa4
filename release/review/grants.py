"""Who may do what on what, out of the policies in a template."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from release.tree import Template

ANYONE = "anyone"


@dataclass(frozen=True, order=True)
class Grant:
    """One action that is allowed, or forbidden.

    `who` and `resource` are as people read them, `condition` is JSON. `guarded` is the resource
    whose own policy says it (a bucket, a key, a role that may be assumed), empty for a policy of
    `who`.
    """

    who: str
    action: str
    resource: str
    condition: str
    guarded: str = ""

    def covers(self, other: "Grant") -> bool:
        """Whether `other` says nothing that this one does not say already."""
        return (
            (self.who, self.guarded) == (other.who, other.guarded)
            and _matches(self.action, other.action)
            and _matches(self.resource, other.resource)
            and _restrictions(self.condition) <= _restrictions(other.condition)
        )


def in_words(found: set[Grant], verb: str = "may") -> list[str]:
    """Return one sentence for each who and resource, with all actions."""
    together = sorted({(grant.who, grant.resource, grant.condition) for grant in found})
    said = []
    for who, resource, condition in together:
        actions = sorted(
            it.action
            for it in found
            if (it.who, it.resource, it.condition) == (who, resource, condition)
        )
        only = f" if {condition}" if condition else ""
        said.append(f"{who} {verb} {', '.join(dict.fromkeys(actions))} on {resource}{only}")
    return said


_ASSET = re.compile(r"\b[0-9a-f]{64}\b")
"""An asset's hash, which changes with its content and opens nothing else."""

_DOCUMENTS = ("PolicyDocument", "AssumeRolePolicyDocument", "KeyPolicy")


def grants(template: Template) -> set[Grant]:
    """Return everything that a template's policies allow, an action each."""
    resources = template.get("Resources", {})
    return {*_said(resources, "Allow"), *_managed(resources), *_invocations(resources)}


def denials(template: Template) -> set[Grant]:
    """Return everything that a template's policies forbid, an action each."""
    return set(_said(template.get("Resources", {}), "Deny"))


def paths(template: Template) -> set[str]:
    """Return what is in a template, as `Grant` calls it."""
    resources = template.get("Resources", {})
    return {_called(it, resources) for it in resources}


def _said(resources: dict[str, Any], effect: str) -> Iterator[Grant]:
    for logical_id, resource in resources.items():
        properties = resource.get("Properties", {})
        for document in _documents(resource["Type"], properties):
            for statement in _listed(document.get("Statement", [])):
                if statement.get("Effect") == effect:
                    yield from _of_statement(statement, logical_id, resources)


def _documents(kind: str, properties: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the policies of a resource, of which some types take the JSON (AWS::EC2::VPCEndpoint).

    `Policies` are IAM's in types of IAM alone: a parameter has some of another kind.
    """
    found = [properties.get(name) for name in _DOCUMENTS]
    if kind.startswith("AWS::IAM::"):
        found += [it.get("PolicyDocument") for it in properties.get("Policies", ())]
    for document in found:
        match document:
            case dict():
                yield document
            case str() if document.startswith("{"):
                yield json.loads(document)


def _managed(resources: dict[str, Any]) -> Iterator[Grant]:
    for logical_id, resource in resources.items():
        for arn in resource.get("Properties", {}).get("ManagedPolicyArns", ()):
            everything = f"everything that {_shown(arn, resources)} allows"
            yield Grant(_called(logical_id, resources), "act", everything, "")


def _invocations(resources: dict[str, Any]) -> Iterator[Grant]:
    for resource in resources.values():
        if resource["Type"] == "AWS::Lambda::Permission":
            properties = resource["Properties"]
            who, function = (
                _shown(properties[it], resources) for it in ("Principal", "FunctionName")
            )
            source = {key: properties[key] for key in _SOURCES if key in properties}
            condition = json.dumps(source, sort_keys=True) if source else ""
            who = ANYONE if who == "*" else who
            yield Grant(who, properties["Action"], function, condition, function)


_SOURCES = ("SourceAccount", "SourceArn", "PrincipalOrgID", "FunctionUrlAuthType")
"""What restricts who may invoke a function."""


def _of_statement(
    statement: dict[str, Any], logical_id: str, resources: dict[str, Any]
) -> Iterator[Grant]:
    condition = statement.get("Condition")
    said = json.dumps(condition, sort_keys=True) if condition else ""
    guarded = _guarded(logical_id, resources) if _names_principals(statement) else ""
    for who in _principals(statement, logical_id, resources):
        for action in _all_but(statement, "Action", resources):
            for on in _all_but(statement, "Resource", resources) or [guarded]:
                place = guarded if guarded and on == "*" else on
                yield Grant(who, action, _ASSET.sub("<asset>", place), said, guarded)


def _names_principals(statement: dict[str, Any]) -> bool:
    return "Principal" in statement or "NotPrincipal" in statement


def _guarded(logical_id: str, resources: dict[str, Any]) -> str:
    """Return what a policy that names principals protects: itself, or what it is attached to."""
    properties = resources[logical_id].get("Properties", {})
    for name in ("Bucket", "Topics", "Queues"):
        if name in properties and resources[logical_id]["Type"].endswith("Policy"):
            return ", ".join(_shown(it, resources) for it in _listed(properties[name]))
    return _called(logical_id, resources)


def _principals(statement: dict[str, Any], logical_id: str, resources: dict[str, Any]) -> list[str]:
    if "NotPrincipal" in statement:
        return [ANYONE]
    if "Principal" not in statement:
        roles = resources[logical_id].get("Properties", {}).get("Roles", ())
        return [_shown(role, resources) for role in roles] or [_called(logical_id, resources)]
    principal = statement["Principal"]
    if isinstance(principal, str):
        return [ANYONE if principal == "*" else principal]
    return [
        ANYONE if it == "*" else _shown(it, resources)
        for kind in sorted(principal)
        for it in _listed(principal[kind])
    ]


def _all_but(statement: dict[str, Any], name: str, resources: dict[str, Any]) -> list[str]:
    """Return what a statement has under `name`, or everything but what is under its opposite."""
    if name in statement:
        return [_shown(it, resources) for it in _listed(statement[name])]
    if f"Not{name}" in statement:
        excepted = sorted(_shown(it, resources) for it in _listed(statement[f"Not{name}"]))
        return [f"everything but {', '.join(excepted)}"]
    return []


def _matches(pattern: str, text: str) -> bool:
    """Whether IAM's pattern, with * and ?, stands for the text; brackets mean themselves."""
    return fnmatchcase(text, pattern.replace("[", "[[]"))


def _restrictions(condition: str) -> set[tuple[str, str]]:
    """Return the parts of a condition, all of which must hold."""
    parts: dict[str, Any] = json.loads(condition or "{}")
    return {
        (operator, json.dumps([key, value], sort_keys=True))
        for operator, keys in parts.items()
        for key, value in (keys.items() if isinstance(keys, dict) else [("", keys)])
    }


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
