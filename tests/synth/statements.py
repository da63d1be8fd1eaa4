"""What policies allow, by the evaluator of ministack, which knows all of IAM that templates use.

Its sources are AWS's pages on evaluation logic and on the elements of policies: identity and
resource policies, keys whose own policy has to allow too, every operator of conditions, `Not...`.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from ministack.core import iam_evaluator

Statement = Mapping[str, Any]
Context = Mapping[str, str]

NOBODY = "arn:aws:iam::111122223333:role/one"


def allows(
    statements: Iterable[Statement],
    action: str,
    *,
    resource: str = "*",
    named: str | None = None,
    context: Context | None = None,
) -> bool:
    """Whether statements, whose values are text, allow an action: one does and none denies it.

    `named` is who calls, a service or an ARN, where the policy is a resource's and names who may;
    `resource` is "*" in a key's own policy.
    """
    document = {"Statement": list(statements)}
    if named is None:
        request = _request(NOBODY, action, resource, context or {})
        return _allowed(iam_evaluator.evaluate(request, [_parsed(document)]))
    service = None if named.startswith("arn:") else named
    request = _request(named, action, resource, context or {})
    return _allowed(iam_evaluator.evaluate_resource_policy(document, request, service))


def lets_role(
    role: str,
    granted: Iterable[Statement],
    action: str,
    *,
    resource: str,
    own: Iterable[Statement] | None = None,
    context: Context | None = None,
) -> bool:
    """Whether the role of an ARN, with the statements `granted`, may act on a resource.

    `own` is the policy of the resource, of the same account, where it has one; that of a key has to
    allow as well.
    """
    request = _request(role, action, resource, context or {})
    result = iam_evaluator.evaluate(request, [_parsed({"Statement": list(granted)})])
    if own is not None:
        policy = {"Statement": list(own)}
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
