"""The grants in the policies of a template."""

import json
import re
from collections.abc import Iterator
from typing import Any

from release.review.access.grants import ANYONE, Grant, PolicyScope, condition_of
from release.review.values import construct_path, listed, text_of
from release.tree import Template

ROOT = {"Fn::Join": ["", ["arn:aws:iam::", {"Ref": "AWS::AccountId"}, ":root"]]}
DEFAULTS: dict[str, tuple[str, dict[str, Any]]] = {
    # "If this parameter is not specified, we attach a default policy that allows full access to
    # the service" (EC2 API reference, CreateVpcEndpoint, PolicyDocument); the policy itself: AWS
    # PrivateLink guide, vpc-endpoints-access.html, "Default endpoint policy"
    "AWS::EC2::VPCEndpoint": (
        "PolicyDocument",
        {"Effect": "Allow", "Principal": "*", "Action": "*", "Resource": "*"},
    ),
    # KMS developer guide, key-policy-default
    "AWS::KMS::Key": (
        "KeyPolicy",
        {"Effect": "Allow", "Principal": {"AWS": ROOT}, "Action": "kms:*", "Resource": "*"},
    ),
}
"""Type -> the property with its policy, and AWS's default statement if that is absent."""

SOURCES = ("SourceAccount", "SourceArn", "PrincipalOrgID", "FunctionUrlAuthType")
"""Properties that restrict the callers of a function."""

_ASSET = re.compile(r"\b[0-9a-f]{64}\b")
"""The hash of an asset: it changes with the content, not with the permission."""


def grants(template: Template, effect: str = "Allow", stays: frozenset[str] = frozenset()) -> set[
    Grant
]:  # fmt: skip
    """Return the grants in a template's policies, one for each action.

    For resources in `stays`, by logical id, an absent policy is AWS's default.
    """
    resources = template.get("Resources", {})
    of_documents = set(_of_documents(resources, effect, stays))
    if effect == "Deny":
        return of_documents
    return {*of_documents, *_managed(resources), *_invocations(resources)}


def paths(template: Template) -> set[str]:
    """Return the names of a template's resources in grants."""
    resources = template.get("Resources", {})
    return {construct_path(name, resources) for name in resources}


def _of_documents(resources: dict[str, Any], effect: str, stays: frozenset[str]) -> Iterator[Grant]:
    for logical_id, resource in resources.items():
        properties, kind = resource.get("Properties", {}), resource["Type"]
        name, default = DEFAULTS.get(kind, ("", {}))
        documents = [*_documents(kind, properties)]
        if name and name not in properties and logical_id in stays:
            documents.append({"Statement": default})
        for document in documents:
            for statement in listed(document.get("Statement", [])):
                if statement.get("Effect") == effect:
                    yield from _of_statement(statement, logical_id, resources)


def _documents(kind: str, properties: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the policies of a resource: every property with statements.

    Some types have a policy as JSON text (AWS::EC2::VPCEndpoint). `Policies` are policies only in
    types of IAM: an SSM parameter has a property of that name with another meaning.
    """
    documents = [*properties.values()]
    if kind.startswith("AWS::IAM::"):
        documents += [policy.get("PolicyDocument") for policy in properties.get("Policies", ())]
    for document in documents:
        match document:
            case {"Statement": _}:
                yield document
            case str() if document.startswith("{") and '"Statement"' in document:
                yield json.loads(document)


def _managed(resources: dict[str, Any]) -> Iterator[Grant]:
    for logical_id, resource in resources.items():
        for arn in resource.get("Properties", {}).get("ManagedPolicyArns", ()):
            everything = f"everything that {text_of(arn, resources)} allows"
            yield Grant(
                construct_path(logical_id, resources), PolicyScope("act"), PolicyScope(everything)
            )


def _invocations(resources: dict[str, Any]) -> Iterator[Grant]:
    for resource in resources.values():
        if resource["Type"] == "AWS::Lambda::Permission":
            properties = resource["Properties"]
            who, function = (
                text_of(properties[item], resources) for item in ("Principal", "FunctionName")
            )
            source = {key: properties[key] for key in SOURCES if key in properties}
            condition = condition_of({"Condition": {"StringEquals": source}}, resources)
            action = PolicyScope(properties["Action"])
            yield Grant(
                ANYONE if who == "*" else who, action, PolicyScope("*"), condition, function
            )


def _of_statement(
    statement: dict[str, Any], logical_id: str, resources: dict[str, Any]
) -> Iterator[Grant]:
    guards = "Principal" in statement or "NotPrincipal" in statement
    guarded = _guarded(logical_id, resources) if guards else ""
    condition = condition_of(statement, resources)
    for who in _principals(statement, logical_id, resources):
        for action in _scopes(statement, "Action", resources):
            for scope in _scopes(statement, "Resource", resources) or [PolicyScope("*")]:
                yield Grant(who, action, scope, condition, guarded)


def _guarded(logical_id: str, resources: dict[str, Any]) -> str:
    """Return the resource that a policy protects: its own, or the one it is attached to."""
    properties = resources[logical_id].get("Properties", {})
    for name in ("Bucket", "Topics", "Queues"):
        if name in properties and resources[logical_id]["Type"].endswith("Policy"):
            return ", ".join(text_of(value, resources) for value in listed(properties[name]))
    return construct_path(logical_id, resources)


def _principals(statement: dict[str, Any], logical_id: str, resources: dict[str, Any]) -> list[str]:
    """Return the principals of a statement; an Allow with NotPrincipal is for anyone."""
    if "NotPrincipal" in statement:
        if statement["Effect"] == "Allow":
            return [ANYONE]
        excepted = _named(statement["NotPrincipal"], resources)
        return [f"everybody but {', '.join(excepted)}"]
    if "Principal" in statement:
        return _named(statement["Principal"], resources)
    properties = resources[logical_id].get("Properties", {})
    attached = [item for name in ("Roles", "Users", "Groups") for item in properties.get(name, ())]
    named = [text_of(value, resources) for value in attached]
    return named or [construct_path(logical_id, resources)]


def _named(principal: Any, resources: dict[str, Any]) -> list[str]:
    kinds = principal if isinstance(principal, dict) else {"": principal}
    names = [text_of(value, resources) for kind in sorted(kinds) for value in listed(kinds[kind])]
    return [ANYONE if name == "*" else name for name in names]


def _scopes(statement: dict[str, Any], name: str, resources: dict[str, Any]) -> list[PolicyScope]:
    """Return the scopes of `Action` or `Resource`, or of `NotAction` or `NotResource`."""
    named, excepted = (
        [
            _ASSET.sub("<asset>", text_of(value, resources))
            for value in listed(statement.get(key, []))
        ]
        for key in (name, f"Not{name}")
    )
    return (
        [PolicyScope("*", tuple(sorted(excepted)))]
        if excepted
        else [PolicyScope(item) for item in named]
    )
