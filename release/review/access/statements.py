"""The grants in the policies of a template."""

import json
import re
from collections.abc import Iterator
from typing import Any

from release.review.access.grants import ANYONE, Grant, PolicyScope, parse_condition
from release.review.values import as_list, construct_path, format_value
from release.tree import Template

ACCOUNT_ROOT = {"Fn::Join": ["", ["arn:aws:iam::", {"Ref": "AWS::AccountId"}, ":root"]]}
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
        {"Effect": "Allow", "Principal": {"AWS": ACCOUNT_ROOT}, "Action": "kms:*", "Resource": "*"},
    ),
}
"""Type -> property with its policy, and AWS's default statement without that property."""

CALLER_CONDITIONS = ("SourceAccount", "SourceArn", "PrincipalOrgID", "FunctionUrlAuthType")
"""Properties of AWS::Lambda::Permission that restrict the callers."""

_ASSET = re.compile(r"\b[0-9a-f]{64}\b")
"""The hash of an asset, which is not part of the permission."""


def parse_grants(
    template: Template, effect: str = "Allow", kept: frozenset[str] = frozenset()
) -> set[Grant]:
    """Return the grants in a template's policies, one for each action.

    For the logical IDs in `kept`, an absent policy means AWS's default policy.
    """
    resources = template.get("Resources", {})
    grants = set(_document_grants(resources, effect, kept))
    if effect == "Deny":
        return grants
    return {*grants, *_managed_policy_grants(resources), *_invocation_grants(resources)}


def construct_paths(template: Template) -> set[str]:
    """Return the construct paths of a template's resources, which name them in grants."""
    resources = template.get("Resources", {})
    return {construct_path(name, resources) for name in resources}


def _document_grants(
    resources: dict[str, Any], effect: str, kept: frozenset[str]
) -> Iterator[Grant]:
    for logical_id, resource in resources.items():
        properties, kind = resource.get("Properties", {}), resource["Type"]
        name, default = DEFAULTS.get(kind, ("", {}))
        documents = [*_documents(kind, properties)]
        if name and name not in properties and logical_id in kept:
            documents.append({"Statement": default})
        for document in documents:
            for statement in as_list(document.get("Statement", [])):
                if statement.get("Effect") == effect:
                    yield from _statement_grants(statement, logical_id, resources)


def _documents(kind: str, properties: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the policies of a resource: every property with statements.

    A policy can be JSON text (AWS::EC2::VPCEndpoint). `Policies` contains policies only in IAM
    types: in AWS::SSM::Parameter, it has another meaning.
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


def _managed_policy_grants(resources: dict[str, Any]) -> Iterator[Grant]:
    for logical_id, resource in resources.items():
        for arn in resource.get("Properties", {}).get("ManagedPolicyArns", ()):
            scope = PolicyScope(f"everything that {format_value(arn, resources)} allows")
            yield Grant(construct_path(logical_id, resources), PolicyScope("act"), scope)


def _invocation_grants(resources: dict[str, Any]) -> Iterator[Grant]:
    for resource in resources.values():
        if resource["Type"] == "AWS::Lambda::Permission":
            properties = resource["Properties"]
            principal, function = (
                format_value(properties[item], resources) for item in ("Principal", "FunctionName")
            )
            source = {key: properties[key] for key in CALLER_CONDITIONS if key in properties}
            condition = parse_condition({"Condition": {"StringEquals": source}}, resources)
            action = PolicyScope(properties["Action"])
            yield Grant(
                ANYONE if principal == "*" else principal,
                action,
                PolicyScope("*"),
                condition,
                function,
            )


def _statement_grants(
    statement: dict[str, Any], logical_id: str, resources: dict[str, Any]
) -> Iterator[Grant]:
    is_resource_policy = "Principal" in statement or "NotPrincipal" in statement
    policy_resource = _policy_resource(logical_id, resources) if is_resource_policy else ""
    condition = parse_condition(statement, resources)
    for principal in _principals(statement, logical_id, resources):
        for action in _scopes(statement, "Action", resources):
            for scope in _scopes(statement, "Resource", resources) or [PolicyScope("*")]:
                yield Grant(principal, action, scope, condition, policy_resource)


def _policy_resource(logical_id: str, resources: dict[str, Any]) -> str:
    """Return the resource that has a policy, or to which a policy resource attaches it."""
    properties = resources[logical_id].get("Properties", {})
    for name in ("Bucket", "Topics", "Queues"):
        if name in properties and resources[logical_id]["Type"].endswith("Policy"):
            return ", ".join(format_value(value, resources) for value in as_list(properties[name]))
    return construct_path(logical_id, resources)


def _principals(statement: dict[str, Any], logical_id: str, resources: dict[str, Any]) -> list[str]:
    """Return the principals of a statement; an Allow with NotPrincipal means anyone."""
    if "NotPrincipal" in statement:
        if statement["Effect"] == "Allow":
            return [ANYONE]
        excepted = _principal_names(statement["NotPrincipal"], resources)
        return [f"everyone except {', '.join(excepted)}"]
    if "Principal" in statement:
        return _principal_names(statement["Principal"], resources)
    properties = resources[logical_id].get("Properties", {})
    attached = [item for name in ("Roles", "Users", "Groups") for item in properties.get(name, ())]
    named = [format_value(value, resources) for value in attached]
    return named or [construct_path(logical_id, resources)]


def _principal_names(principal: Any, resources: dict[str, Any]) -> list[str]:
    kinds = principal if isinstance(principal, dict) else {"": principal}
    names = [
        format_value(value, resources) for kind in sorted(kinds) for value in as_list(kinds[kind])
    ]
    return [ANYONE if name == "*" else name for name in names]


def _scopes(statement: dict[str, Any], name: str, resources: dict[str, Any]) -> list[PolicyScope]:
    """Return the scopes of `Action` or `Resource`, or of `NotAction` or `NotResource`."""
    named, excepted = (
        [
            _ASSET.sub("<asset>", format_value(value, resources))
            for value in as_list(statement.get(key, []))
        ]
        for key in (name, f"Not{name}")
    )
    return (
        [PolicyScope("*", tuple(sorted(excepted)))]
        if excepted
        else [PolicyScope(item) for item in named]
    )
