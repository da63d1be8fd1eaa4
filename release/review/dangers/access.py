"""Dangers of added and removed permissions."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from release.review.access.grants import ANYONE, CONDITION, Grant, grant_sentences
from release.review.access.statements import construct_paths
from release.review.comparison import Comparison
from release.review.dangers.danger import Danger, digest

ESCALATING = (
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
"""Actions that read or change data, or grant that; chosen for this project."""

_MANAGED = re.compile(r"AdministratorAccess|PowerUserAccess|FullAccess")
_WHOLE_SERVICE = re.compile(r"(dynamodb|iam|kms|s3|secretsmanager|ssm|sts):\*")
_ARN_TYPES = "endpoint/|function:|key/|parameter/|policy/|role/|secret:|table/|user/"
_ANY_RESOURCE = re.compile(rf"\*|arn:[^:]*:[^:]*:[^:]*:[^:]*:({_ARN_TYPES})?\*")
_PLACEHOLDER = re.compile(r"\$\{[^}]*\}")
_VIA_SERVICE = "kms:ViaService"
"""The condition key that restricts a key to one service (KMS developer guide, conditions-kms)."""

_FEDERATED = ("sts:AssumeRoleWithWebIdentity", "sts:AssumeRoleWithSAML")


def widened_access(comparison: Comparison) -> Iterator[Danger]:
    """Existing principals or resources get new permissions, or lose a denial.

    Examples: a role may do more, a bucket or key admits more principals, or a new role may do more
    than the role it replaces. `privileged_new_principals` covers new principals, and
    `public_exposure` covers access for anyone.
    """
    for access in comparison.access:
        named = {grant for grant in access.by_existing if grant.principal != ANYONE}
        for grants, verb in (
            (named, "may now"),
            (access.lost_denials, "is no longer denied"),
        ):
            for sentence in grant_sentences(grants, verb):
                yield _danger(access.stack, sentence, verb)


def lost_service_access(comparison: Comparison) -> Iterator[Danger]:
    """An AWS service may no longer use a resource, for example to write logs or assume a role."""
    for access in comparison.access:
        for sentence in grant_sentences(access.lost_services, "may no longer"):
            yield _danger(access.stack, sentence, "may no longer")


def public_exposure(comparison: Comparison) -> Iterator[Danger]:
    """A policy gives access to anyone."""
    for access in comparison.access:
        public = {
            grant for grant in access.by_existing | access.by_new if grant.principal == ANYONE
        }
        for sentence in grant_sentences(public):
            yield _danger(access.stack, sentence, "may")


def privileged_new_principals(comparison: Comparison) -> Iterator[Danger]:
    """A new role or resource has administrator rights, reaches all data, or admits outsiders.

    The report only lists lesser new permissions. Conditions are ignored, except the restriction of
    a KMS key to a service. `public_exposure` covers access for anyone.
    """
    own = _StagePrincipals(comparison)
    for access in comparison.access:
        by_reason: dict[str, set[Grant]] = {}
        for grant in access.by_new:
            reason = _admitted_outsiders(grant, own) or _excessive_power(grant)
            if reason and grant.principal != ANYONE:
                by_reason.setdefault(reason, set()).add(grant)
        for reason, grants in sorted(by_reason.items()):
            for sentence in grant_sentences(grants):
                yield _danger(access.stack, sentence, reason, f"new, and {reason}: ")


def _danger(stack: str, sentence: str, verb: str, prefix: str = "") -> Danger:
    """Return a danger; the same condition change of several grants has the same group."""
    principal = sentence.partition(" ")[0]
    _, changes, condition = sentence.partition(CONDITION)
    group = digest(condition) if changes else f"{stack}.{principal}.{digest(verb)}"
    return Danger(f"{stack}.{principal}.{digest(sentence)}", f"{prefix}{sentence}", group=group)


class _StagePrincipals:
    """The principals that belong to a stage."""

    def __init__(self, comparison: Comparison) -> None:
        after = comparison.templates[1]
        self._paths = {path for template in after.values() for path in construct_paths(template)}
        self._stacks = tuple(f"{stack}:" for stack in after)
        self._accounts = ("${AWS::AccountId}", comparison.file_after.account or "${AWS::AccountId}")

    def has(self, principal: str) -> bool:
        """Return whether a principal is in the app or its account, or an AWS service."""
        return (
            principal in self._paths
            or principal in self._accounts
            or principal.startswith(self._stacks)
            or principal.endswith((".amazonaws.com", ".amazonaws.com.cn"))
            or any(f":{account}:" in principal for account in self._accounts)
        )


def _admitted_outsiders(grant: Grant, own: _StagePrincipals) -> str | None:
    """Return why a grant of a resource policy admits outsiders, None if it does not."""
    if not grant.policy_resource:
        return None
    if str(grant.action) in _FEDERATED:
        return "trusts any identity of a federated identity provider"
    return None if own.has(grant.principal) else "admits a principal outside this stage's account"


def _excessive_power(grant: Grant) -> str | None:
    """Return why a grant of an identity policy is too powerful, None if it is not."""
    action, resource = grant.action, grant.resource
    if grant.policy_resource:
        return None
    if action.pattern == "act":
        return (
            "has a full-access policy managed by AWS" if _MANAGED.search(resource.pattern) else None
        )
    if action.pattern == "*":
        return "may do everything"
    if _WHOLE_SERVICE.fullmatch(action.pattern):
        return "may do everything in a service"
    via_service = any(key == _VIA_SERVICE for _, key, _ in grant.condition)
    if via_service or not _ANY_RESOURCE.fullmatch(_PLACEHOLDER.sub("x", resource.pattern)):
        return None
    if _matches_any(action.pattern, ESCALATING):
        return "allows privilege escalation"
    return "reaches all data" if _matches_any(action.pattern, DATA_ACTIONS) else None


def _matches_any(pattern: str, actions: tuple[str, ...]) -> bool:
    return any(fnmatchcase(action.lower(), pattern.lower()) for action in actions)
