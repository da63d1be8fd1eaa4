"""Evaluation of IAM policies by ministack.

Ministack's evaluator follows AWS's pages on the policy evaluation logic and the policy elements:
identity and resource policies, key policies, condition operators, NotAction and NotResource.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from ministack.core import iam_evaluator

Statement = Mapping[str, Any]
Context = Mapping[str, str]

SAMPLE_ROLE = "arn:aws:iam::111122223333:role/one"


def allows(
    statements: Iterable[Statement],
    action: str,
    *,
    resource: str = "*",
    principal: str | None = None,
    context: Context | None = None,
) -> bool:
    """Return whether statements allow an action: at least one allows and none denies it.

    `principal`, a service or an ARN, is needed for resource policies. `resource` is "*" in a key
    policy.
    """
    document = {"Statement": list(statements)}
    if principal is None:
        request = _request(SAMPLE_ROLE, action, resource, context or {})
        return _allowed(iam_evaluator.evaluate(request, [_parsed(document)]))
    service = None if principal.startswith("arn:") else principal
    request = _request(principal, action, resource, context or {})
    return _allowed(iam_evaluator.evaluate_resource_policy(document, request, service))


def role_allows(
    role: str,
    identity_statements: Iterable[Statement],
    action: str,
    *,
    resource: str,
    resource_statements: Iterable[Statement] | None = None,
    context: Context | None = None,
) -> bool:
    """Return whether a role may perform an action on a resource of the same account.

    `resource_statements` is the policy of the resource, None without one. A key policy must allow
    the action too.
    """
    request = _request(role, action, resource, context or {})
    result = iam_evaluator.evaluate(request, [_parsed({"Statement": list(identity_statements)})])
    if resource_statements is not None:
        policy = {"Statement": list(resource_statements)}
        is_key = action.startswith("kms:")
        result = iam_evaluator.combine_resource_policy(
            result, request, policy, request.principal_account, required=is_key
        )
    return _allowed(result)


def _request(caller: str, action: str, resource: str, context: Context) -> Any:
    return iam_evaluator.EvalContext(
        principal_arn=caller,
        principal_type="AssumedRole",
        principal_account=caller.split(":")[4] if caller.startswith("arn:") else "",
        action=action,
        resource_arn=resource,
        region="us-east-1",
        secure_transport=True,
        service_context={key.lower(): value for key, value in context.items()},
    )


def _parsed(document: dict[str, Any]) -> Any:
    return iam_evaluator.parse_policy_document(document)


def _allowed(result: Any) -> bool:
    return bool(result.decision == "Allow")
