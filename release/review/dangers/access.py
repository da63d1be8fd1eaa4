"""Dangers of added and removed permissions."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from release.review.access.grants import ANYONE, CONDITION, Grant, in_words
from release.review.access.statements import paths
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
"""Actions that, on every resource, give access to the permissions of other roles (Rhino Security
Labs, "AWS IAM Privilege Escalation"; checkov's CKV_AWS_110)."""

DATA = (
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
"""Actions that read or change data, or allow others to: our choice."""

_MANAGED = re.compile(r"AdministratorAccess|PowerUserAccess|FullAccess")
_WHOLE_SERVICE = re.compile(r"(dynamodb|iam|kms|s3|secretsmanager|ssm|sts):\*")
_KINDS = "endpoint/|function:|key/|parameter/|policy/|role/|secret:|table/|user/"
_EVERY = re.compile(rf"\*|arn:[^:]*:[^:]*:[^:]*:[^:]*:({_KINDS})?\*")
_UNKNOWN = re.compile(r"\$\{[^}]*\}")
_THROUGH = "kms:ViaService"
"""The condition key that restricts a key to one service (KMS developer guide, conditions-kms)."""

_FEDERATED = ("sts:AssumeRoleWithWebIdentity", "sts:AssumeRoleWithSAML")


def widened_access(comparison: Comparison) -> Iterator[Danger]:
    """Existing principals or resources get new permissions, or lose a denial.

    Such as a role that may do more, a bucket or key that admits more principals, or a new role that
    may do more than the one it replaces. `privileged_new_principals` has new principals, and
    `public_exposure` access for anyone.
    """
    for access in comparison.access:
        somebody = {grant for grant in access.by_existing if grant.who != ANYONE}
        for grants, verb in (
            (somebody, "may now"),
            (access.lost_denials, "is no longer forbidden to"),
        ):
            for sentence in in_words(grants, verb):
                yield _danger(access.stack, sentence, verb)


def lost_service_access(comparison: Comparison) -> Iterator[Danger]:
    """An AWS service can no longer use a resource that stays: notify, write logs, assume a role."""
    for access in comparison.access:
        for sentence in in_words(access.lost_services, "may no longer"):
            yield _danger(access.stack, sentence, "may no longer")


def public_exposure(comparison: Comparison) -> Iterator[Danger]:
    """A policy gives access to anyone."""
    for access in comparison.access:
        public = {grant for grant in access.by_existing | access.by_new if grant.who == ANYONE}
        for sentence in in_words(public):
            yield _danger(access.stack, sentence, "may")


def privileged_new_principals(comparison: Comparison) -> Iterator[Danger]:
    """A new role or resource has administrator rights, reaches all data, or admits outsiders.

    Lesser new permissions are listed in the report. Conditions are ignored, except one that
    restricts a KMS key to a service. `public_exposure` has access for anyone.
    """
    own = _Own(comparison)
    for access in comparison.access:
        judged: dict[str, set[Grant]] = {}
        for grant in access.by_new:
            if grant.who != ANYONE and (why := _guarded(grant, own) or _power(grant)):
                judged.setdefault(why, set()).add(grant)
        for why, grants in sorted(judged.items()):
            for sentence in in_words(grants):
                yield _danger(access.stack, sentence, why, f"new, and {why}: ")


def _danger(stack: str, sentence: str, verb: str, why: str = "") -> Danger:
    """Return a danger; equal changes of a condition in several places are grouped."""
    who = sentence.partition(" ")[0]
    _, changes, condition = sentence.partition(CONDITION)
    group = digest(condition) if changes else f"{stack}.{who}.{digest(verb)}"
    return Danger(f"{stack}.{who}.{digest(sentence)}", f"{why}{sentence}", group=group)


class _Own:
    """The principals that belong to the stage itself."""

    def __init__(self, comparison: Comparison) -> None:
        after = comparison.sides[1]
        self._paths = {path for template in after.values() for path in paths(template)}
        self._stacks = tuple(f"{stack}:" for stack in after)
        self._accounts = ("${AWS::AccountId}", comparison.will_be.account or "${AWS::AccountId}")

    def has(self, who: str) -> bool:
        """Return whether a principal is in the app, in its account, or an AWS service."""
        if who in self._paths or who.startswith(self._stacks) or who in self._accounts:
            return True
        if who.endswith((".amazonaws.com", ".amazonaws.com.cn")):
            return True
        return any(f":{account}:" in who for account in self._accounts)


def _guarded(grant: Grant, own: _Own) -> str | None:
    """Return which outsiders a resource policy admits, None if it admits none."""
    if not grant.guarded:
        return None
    if str(grant.action) in _FEDERATED:
        return "trusts any identity of a federated identity provider"
    return None if own.has(grant.who) else "admits a principal outside this stage's account"


def _power(grant: Grant) -> str | None:
    """Return why an identity policy's grant is too powerful, None if it is not."""
    action, resource = grant.action, grant.resource
    if grant.guarded:
        return None
    if action.pattern == "act":
        return (
            "has a full-access policy managed by AWS" if _MANAGED.search(resource.pattern) else None
        )
    if action.pattern == "*":
        return "may do everything"
    if _WHOLE_SERVICE.fullmatch(action.pattern):
        return "may do everything in a service"
    through = any(key == _THROUGH for _, key, _ in grant.condition)
    if through or not _EVERY.fullmatch(_UNKNOWN.sub("x", resource.pattern)):
        return None
    if _matches_any(action.pattern, ESCALATING):
        return "allows privilege escalation"
    return "reaches all data" if _matches_any(action.pattern, DATA) else None


def _matches_any(pattern: str, actions: tuple[str, ...]) -> bool:
    return any(fnmatchcase(action.lower(), pattern.lower()) for action in actions)
