"""Dangers of added and removed permissions."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from review.access.grants import (
    ANYONE,
    CONDITION_CHANGE,
    EVERYTHING_EXCEPT,
    NETWORK,
    Grant,
    grant_groups,
    grant_sentence,
    is_service,
)
from review.access.statements import MANAGED_POLICY_ACTION, construct_paths
from review.comparison import Comparison
from review.dangers.danger import Danger, digest, joined

ESCALATING_ACTIONS = (
    "iam:AttachRolePolicy",
    "iam:CreateAccessKey",
    "iam:CreatePolicyVersion",
    "iam:PassRole",
    "iam:PutRolePolicy",
    "iam:UpdateAssumeRolePolicy",
    "sts:AssumeRole",
)
"""Actions that allow privilege escalation if they are allowed on all resources (Rhino Security
Labs, "AWS IAM Privilege Escalation"; checkov's CKV_AWS_110)."""

DATA_ACTIONS = (
    "dynamodb:GetItem",
    "dynamodb:PutItem",
    "kms:CreateGrant",
    "kms:Decrypt",
    "kms:PutKeyPolicy",
    "lambda:InvokeFunction",
    "s3:DeleteObject",
    "s3:GetObject",
    "s3:PutBucketPolicy",
    "s3:PutObject",
    "sagemaker:InvokeEndpoint",
    "secretsmanager:GetSecretValue",
    "ssm:GetParameter",
)
"""Actions that read or change data, or that give others access to it; chosen for this project."""

_FULL_ACCESS_POLICIES = re.compile(r"AdministratorAccess|PowerUserAccess|FullAccess")
_WHOLE_SERVICE = re.compile(r"(dynamodb|iam|kms|s3|secretsmanager|ssm|sts):\*")
_ARN_TYPES = "endpoint/|function:|key/|parameter/|policy/|role/|secret:|table/|user/"
_ANY_RESOURCE = re.compile(rf"\*|arn:[^:]*:[^:]*:[^:]*:[^:]*:({_ARN_TYPES})?\*")
_PLACEHOLDER = re.compile(r"\$\{[^}]*\}")
_VIA_SERVICE = "kms:ViaService"
"""The condition key that restricts a key to one service (KMS developer guide, conditions-kms)."""

_FEDERATED_ACTIONS = ("sts:AssumeRoleWithWebIdentity", "sts:AssumeRoleWithSAML")


def widened_access(comparison: Comparison) -> Iterator[Danger]:
    """Existing principals or resources get new permissions, or lose a denial.

    Examples: a role may do more, a bucket or key admits more principals, or a new role may do more
    than the role that it replaces. The rule `privileged_new_principals` is about new principals,
    `public_exposure` about access for anyone.
    """
    for access in comparison.access:
        new_grants = {grant for grant in access.grants_to_existing if grant.principal != ANYONE}
        yield from _dangers(access.stack, new_grants, "may now")
        yield from _dangers(access.stack, access.removed_denials, "is no longer denied")


def lost_service_access(comparison: Comparison) -> Iterator[Danger]:
    """An AWS service may no longer use a resource, for example to write logs or assume a role."""
    for access in comparison.access:
        yield from _dangers(access.stack, access.removed_service_grants, "may no longer")


def public_exposure(comparison: Comparison) -> Iterator[Danger]:
    """A policy gives access to anyone."""
    for access in comparison.access:
        new_grants = access.grants_to_existing | access.grants_to_new
        public_grants = {grant for grant in new_grants if grant.principal == ANYONE}
        yield from _dangers(access.stack, public_grants, "may")


def privileged_new_principals(comparison: Comparison) -> Iterator[Danger]:
    """A new role or resource is privileged, reaches all data, or admits outside principals.

    New permissions without these properties are listed in the report, but are not dangers.
    Conditions are ignored, except the restriction of a KMS key to a service. The rule
    `public_exposure` is about access for anyone.
    """
    stage_principals = _StagePrincipals(comparison)
    for access in comparison.access:
        grants_by_reason: dict[str, set[Grant]] = {}
        for grant in access.grants_to_new:
            reason = _admission_reason(grant, stage_principals) or _privilege_reason(grant)
            if reason and grant.principal != ANYONE:
                grants_by_reason.setdefault(reason, set()).add(grant)
        for reason, grants in sorted(grants_by_reason.items()):
            for group in grant_groups(grants):
                admitting = {grant.policy_resource for grant in group}
                own = {grant for grant in access.grants_to_new if grant.principal in admitting}
                groups = sorted(grant_groups(own), key=_is_harmless)  # a report cuts the end off
                sentences = [grant_sentence(group, "may") for group in groups]
                permissions = [joined(sentences)] if own else []
                text = "; ".join((grant_sentence(group, "may"), *permissions))
                yield _danger(access.stack, group, f"new, and {reason}: {text}", reason)


def _dangers(stack: str, grants: set[Grant], verb: str) -> Iterator[Danger]:
    return (
        _danger(stack, group, grant_sentence(group, verb), verb) for group in grant_groups(grants)
    )


def _danger(stack: str, grants: list[Grant], message: str, shared_text: str) -> Danger:
    """Return a danger of grants, grouped with those of the principal with the same `shared_text`.

    Equal changes of a condition are one group, for any principal and stack. The key covers all
    grants, of which the message names the first.
    """
    principal = grants[0].principal
    _, is_condition_change, change = message.partition(CONDITION_CHANGE)
    group = digest(change) if is_condition_change else f"{stack}.{principal}.{digest(shared_text)}"
    identity = digest("\n".join((message, *map(str, grants))))
    return Danger(f"{stack}.{principal}.{identity}", message, group=group)


class _StagePrincipals:
    """The principals in the stacks and the account of a stage, and AWS services."""

    def __init__(self, comparison: Comparison) -> None:
        after = comparison.templates[1]
        self._paths = {path for template in after.values() for path in construct_paths(template)}
        self._stack_prefixes = tuple(f"{stack}:" for stack in after)
        self._accounts = ("${AWS::AccountId}", comparison.plans[1].account or "${AWS::AccountId}")

    def __contains__(self, principal: str) -> bool:
        return (
            principal == NETWORK
            or principal in self._paths
            or principal in self._accounts
            or principal.startswith(self._stack_prefixes)
            or is_service(principal)
            or any(f":{account}:" in principal for account in self._accounts)
        )


def _admission_reason(grant: Grant, stage_principals: _StagePrincipals) -> str | None:
    """Return why a resource policy admits a principal outside of the stage, None if it does not."""
    if not grant.policy_resource:
        return None
    if grant.action in _FEDERATED_ACTIONS:
        has_subjects = any(":sub StringEquals " in entry for entry in grant.condition)
        identities = "identities" if has_subjects else "any identity"
        return f"trusts {identities} of a federated identity provider"
    if grant.principal in stage_principals:
        return None
    return "admits a principal outside this stage's account"


def _privilege_reason(grant: Grant) -> str | None:
    """Return why a grant of an identity policy is too powerful, None if it is not."""
    action, resource = grant.action, grant.resource
    if grant.policy_resource:
        return None
    if action == MANAGED_POLICY_ACTION:
        is_full_access = _FULL_ACCESS_POLICIES.search(resource)
        return "has a full-access policy managed by AWS" if is_full_access else None
    if action == "*" or action.startswith(EVERYTHING_EXCEPT):
        return "may do everything"
    if _WHOLE_SERVICE.fullmatch(action):
        return "may do everything in a service"
    via_service = any(entry.startswith(f"{_VIA_SERVICE} ") for entry in grant.condition)
    if resource.startswith(EVERYTHING_EXCEPT):
        resource = "*"
    if via_service or not _ANY_RESOURCE.fullmatch(_PLACEHOLDER.sub("x", resource)):
        return None
    if _matches_any(action, ESCALATING_ACTIONS):
        return "allows privilege escalation"
    return "reaches all data" if _matches_any(action, DATA_ACTIONS) else None


def _is_harmless(group: list[Grant]) -> bool:
    return not any(_matches_any(grant.action, ESCALATING_ACTIONS) for grant in group)


def _matches_any(pattern: str, actions: tuple[str, ...]) -> bool:
    return any(fnmatchcase(action.lower(), pattern.lower()) for action in actions)
