"""The grants in the policies of a template."""

import re
from collections.abc import Iterator
from typing import Any

from release.templates import Template
from review.access.grants import ANYONE, EVERYTHING_EXCEPT, NETWORK, OR, Condition, Grant
from review.files.readers import read_structure
from review.values import as_list, construct_path, format_value, is_text

ACCOUNT_ROOT = {"Fn::Join": ["", ["arn:aws:iam::", {"Ref": "AWS::AccountId"}, ":root"]]}
DEFAULT_POLICIES: dict[str, tuple[str, dict[str, Any]]] = {
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
"""Type -> property with its policy, and the statement that AWS uses if the property is absent."""

CALLER_CONDITIONS = ("SourceAccount", "SourceArn", "PrincipalOrgID", "FunctionUrlAuthType")
"""Properties of AWS::Lambda::Permission that restrict the callers."""

MANAGED_POLICY_ACTION = "act"
"""Stands for all actions of a managed policy: "may act on everything that ARN allows"."""

_ARN_OPERATOR = re.compile(r"Arn(Not)?Equals")
_ASSET_HASH = re.compile(r"\b[0-9a-f]{64}\b")
"""The hash of an asset, which changes with each version of its content."""


def parse_grants(
    template: Template, effect: str = "Allow", default_ids: frozenset[str] = frozenset()
) -> set[Grant]:
    """Return the grants in a template's policies, one for each action.

    `effect` is `Allow` or `Deny`. If a resource with a logical ID in `default_ids` has no policy,
    it has AWS's default policy; other resources without a policy have no grants.
    """
    resources = template.get("Resources", {})
    grants = set(_document_grants(resources, effect, default_ids))
    if effect == "Deny":
        return grants
    return {*grants, *_managed_policy_grants(resources), *_invocation_grants(resources)}


def construct_paths(template: Template) -> set[str]:
    """Return the construct paths of a template's resources: their names in grants."""
    resources = template.get("Resources", {})
    return {construct_path(logical_id, resources) for logical_id in resources}


def _document_grants(
    resources: dict[str, Any], effect: str, default_ids: frozenset[str]
) -> Iterator[Grant]:
    for logical_id, resource in resources.items():
        properties, resource_type = resource.get("Properties", {}), resource["Type"]
        policy_property, default = DEFAULT_POLICIES.get(resource_type, ("", {}))
        documents = [*_documents(resource_type, properties, resources)]
        if policy_property and policy_property not in properties and logical_id in default_ids:
            documents.append({"Statement": default})
        for document in documents:
            for statement in as_list(document.get("Statement", [])):
                if statement.get("Effect") == effect:
                    yield from _statement_grants(statement, logical_id, resources)


def _documents(
    resource_type: str, properties: dict[str, Any], resources: dict[str, Any]
) -> Iterator[dict[Any, Any]]:
    """Yield the policies of a resource: every property with statements.

    A policy can be JSON text (AWS::Logs::ResourcePolicy), also a joined one. `Policies` has
    policies only in IAM types: in AWS::SSM::Parameter, it has another meaning.
    """
    values = [*properties.values()]
    if resource_type.startswith("AWS::IAM::"):
        values += [policy.get("PolicyDocument") for policy in properties.get("Policies", ())]
    for value in values:
        match value:
            case {"Statement": _}:
                yield value
            case _ if is_text(value) and '"Statement"' in (text := format_value(value, resources)):
                document = read_structure(text)
                if isinstance(document, dict):
                    yield document


def _managed_policy_grants(resources: dict[str, Any]) -> Iterator[Grant]:
    for logical_id, resource in resources.items():
        for arn in resource.get("Properties", {}).get("ManagedPolicyArns", ()):
            scope = f"everything that {format_value(arn, resources)} allows"
            yield Grant(construct_path(logical_id, resources), MANAGED_POLICY_ACTION, scope)


def _invocation_grants(resources: dict[str, Any]) -> Iterator[Grant]:
    for resource in resources.values():
        if resource["Type"] == "AWS::Lambda::Permission":
            properties = resource["Properties"]
            principal, function = (
                format_value(properties[name], resources) for name in ("Principal", "FunctionName")
            )
            callers = {key: properties[key] for key in CALLER_CONDITIONS if key in properties}
            yield Grant(
                ANYONE if principal == "*" else principal,
                properties["Action"],
                "*",
                _condition({"Condition": {"StringEquals": callers}}, resources),
                function,
            )


def _statement_grants(
    statement: dict[str, Any], logical_id: str, resources: dict[str, Any]
) -> Iterator[Grant]:
    is_resource_policy = "Principal" in statement or "NotPrincipal" in statement
    policy_resource = _policy_resource(logical_id, resources) if is_resource_policy else ""
    condition = _condition(statement, resources)
    is_vpc_endpoint = resources[logical_id]["Type"] == "AWS::EC2::VPCEndpoint"
    for name in _principals(statement, logical_id, resources):
        principal = NETWORK if is_vpc_endpoint and name == ANYONE else name
        for action in _scopes(statement, "Action", resources):
            for scope in _scopes(statement, "Resource", resources) or ["*"]:
                yield Grant(principal, action, scope, condition, policy_resource)


def _policy_resource(logical_id: str, resources: dict[str, Any]) -> str:
    """Return the resource that has a policy, or that a policy resource names."""
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
    names = [
        format_value(identity, resources)
        for key in ("Roles", "Users", "Groups")
        for identity in properties.get(key, ())
    ]
    return names or [construct_path(logical_id, resources)]


def _principal_names(principal: Any, resources: dict[str, Any]) -> list[str]:
    kinds = principal if isinstance(principal, dict) else {"": principal}
    names = [
        format_value(value, resources) for kind in sorted(kinds) for value in as_list(kinds[kind])
    ]
    return [ANYONE if name == "*" else name for name in names]


def _condition(statement: dict[str, Any], resources: dict[str, Any]) -> Condition:
    """Return the condition of a statement.

    "The ArnEquals and ArnLike condition operators behave identically" (IAM user guide,
    reference_policies_elements_condition_operators).
    """
    entries = [
        (
            _ARN_OPERATOR.sub(r"Arn\1Like", operator),
            key,
            sorted(format_value(value, resources) for value in as_list(values)),
        )
        for operator, keys in statement.get("Condition", {}).items()
        for key, values in (keys.items() if isinstance(keys, dict) else [("", keys)])
    ]
    return frozenset(f"{key} {operator} {OR.join(values)}" for operator, key, values in entries)


def _scopes(statement: dict[str, Any], key: str, resources: dict[str, Any]) -> list[str]:
    """Return the patterns of a statement's Action or Resource (`key`), or of the key with `Not`."""
    patterns, excepted = (
        [
            _ASSET_HASH.sub("<asset>", format_value(value, resources))
            for value in as_list(statement.get(name, []))
        ]
        for name in (key, f"Not{key}")
    )
    return [f"{EVERYTHING_EXCEPT}{', '.join(sorted(excepted))}"] if excepted else patterns
