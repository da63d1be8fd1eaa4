"""Evaluation of trust policies of roles."""

from typing import Any

from botocore.exceptions import ClientError

SERVICE = "sagemaker.amazonaws.com"


def is_assumable(iam: Any, arn: str) -> bool:
    """Return whether a role exists and SageMaker may assume it; `iam` is a boto3 client.

    Conditions of the trust policy are not evaluated.
    """
    try:
        role = iam.get_role(RoleName=arn.rpartition("/")[2])["Role"]
    except ClientError:
        return False
    return any(
        _allows_sagemaker(statement)
        for statement in _as_list(role["AssumeRolePolicyDocument"]["Statement"])
    )


def _allows_sagemaker(statement: dict[str, Any]) -> bool:
    principal = statement.get("Principal", {})
    services = _as_list(principal.get("Service", [])) if isinstance(principal, dict) else []
    return (
        statement["Effect"] == "Allow"
        and "sts:AssumeRole" in _as_list(statement.get("Action", []))
        and SERVICE in services
    )


def _as_list(value: Any) -> list[Any]:
    """Return a policy element, which is one value or a list, as a list."""
    return value if isinstance(value, list) else [value]
