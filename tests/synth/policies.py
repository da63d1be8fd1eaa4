"""What a role of a template may do, as a table to compare with."""

import re
from typing import Any

from aws_cdk.assertions import Template

Grants = dict[str, list[str]]
"""Action -> the resources on which it is allowed, as `readable` writes them."""

USES_THE_KEY = ("kms:Decrypt", "kms:Encrypt", "kms:GenerateDataKey*", "kms:ReEncrypt*")
"""What the CDK gives for encrypting and decrypting with a key."""


def grants(template: Template, role: str) -> Grants:
    """Everything that the one policy of a role allows; conditions are `conditions`' matter."""
    found: Grants = {}
    for statement in _statements(template, role):
        assert statement["Effect"] == "Allow"
        for action in _list(statement["Action"]):
            found.setdefault(action, []).extend(map(readable, _list(statement["Resource"])))
    return {action: sorted(resources) for action, resources in found.items()}


def conditions(template: Template, role: str) -> dict[str, Any]:
    """Action -> the condition under which it is allowed."""
    return {
        action: statement["Condition"]
        for statement in _statements(template, role)
        if "Condition" in statement
        for action in _list(statement["Action"])
    }


def readable(arn: Any) -> str:
    """Return an ARN as `Resource/path`, without hashes; of the assets' bucket as `assets`."""
    match arn:
        case {"Fn::GetAtt": [name, "Arn"]}:
            return re.sub(r"[0-9A-F]{8}$", "", name)
        case {"Fn::Join": ["", ["arn:aws:s3:::", {"Fn::Sub": _}, *path]]}:
            return re.sub(r"[0-9a-f]{64}", "HASH", f"assets{''.join(path)}")
        case {"Fn::Join": ["", [resource, path]]}:
            return f"{readable(resource)}{path}"
    raise AssertionError(arn)


def _statements(template: Template, role: str) -> list[dict[str, Any]]:
    roles = template.find_resources("AWS::IAM::Role")
    (only,) = (id_ for id_ in roles if re.fullmatch(rf"{role}[0-9A-F]{{8}}", id_))
    assert "Policies" not in roles[only]["Properties"]
    policies = [it["Properties"] for it in template.find_resources("AWS::IAM::Policy").values()]
    (policy,) = (it for it in policies if {"Ref": only} in it["Roles"])
    statements: list[dict[str, Any]] = policy["PolicyDocument"]["Statement"]
    return statements


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
