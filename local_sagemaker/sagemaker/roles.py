"""Evaluation of trust policies: whether SageMaker may assume a role."""

from typing import Any

from botocore.exceptions import ClientError

SERVICE = "sagemaker.amazonaws.com"


def assumable(iam: Any, arn: str) -> bool:
    """Return whether the role of an ARN exists and trusts SageMaker. `iam` is boto3's client.

    Conditions of the trust policy are not evaluated.
    """
    try:
        role = iam.get_role(RoleName=arn.rpartition("/")[2])["Role"]
    except ClientError:
        return False
    return any(
        _trusts(statement) for statement in _several(role["AssumeRolePolicyDocument"]["Statement"])
    )


def _trusts(statement: dict[str, Any]) -> bool:
    principal = statement.get("Principal", {})
    services = _several(principal.get("Service", [])) if isinstance(principal, dict) else []
    return (
        statement["Effect"] == "Allow"
        and "sts:AssumeRole" in _several(statement.get("Action", []))
        and SERVICE in services
    )


def _several(value: Any) -> list[Any]:
    """Return a policy element, which is one value or a list, as a list."""
    return value if isinstance(value, list) else [value]
