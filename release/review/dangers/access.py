"""Access that somebody did not have."""

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from release.review.access.grants import ANYONE, CONDITION, Grant, in_words
from release.review.access.statements import paths
from release.review.comparison import Comparison
from release.review.dangers.danger import Danger, digest

RULES_ACCESS = (
    "iam:AttachRolePolicy",
    "iam:CreateAccessKey",
    "iam:CreatePolicyVersion",
    "iam:PassRole",
    "iam:PutRolePolicy",
    "iam:UpdateAssumeRolePolicy",
    "sts:AssumeRole",
)
"""With one of these on every resource, one may have whatever another role has (Rhino Security Labs,
"AWS IAM Privilege Escalation"; what checkov's CKV_AWS_110 looks for)."""

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
"""What reads, changes or opens data; which belongs here is our choice."""

_MANAGED = re.compile(r"AdministratorAccess|PowerUserAccess|FullAccess")
_WHOLE_SERVICE = re.compile(r"(dynamodb|iam|kms|s3|secretsmanager|ssm|sts):\*")
_KINDS = "endpoint/|function:|key/|parameter/|policy/|role/|secret:|table/|user/"
_EVERY = re.compile(rf"\*|arn:[^:]*:[^:]*:[^:]*:[^:]*:({_KINDS})?\*")
_UNKNOWN = re.compile(r"\$\{[^}]*\}")
_THROUGH = "kms:ViaService"
"""A key of any name, used through one service alone (KMS developer guide, conditions-kms)."""

_FEDERATED = ("sts:AssumeRoleWithWebIdentity", "sts:AssumeRoleWithSAML")


def widened_access(comparison: Comparison) -> Iterator[Danger]:
    """Who or what was there before may do more, or is no longer forbidden something.

    That is a role that may do more, a bucket, key or role that lets more in, and a new role that
    may do more than the one whose place it takes. Who is new is judged by `powerful_newcomers`,
    anyone by `public_exposure`.
    """
    for access in comparison.access:
        somebody = {grant for grant in access.by_known if grant.who != ANYONE}
        for grants, verb in (
            (somebody, "may now"),
            (access.lost_denials, "is no longer forbidden to"),
        ):
            for sentence in in_words(grants, verb):
                yield _danger(access.stack, sentence, verb)


def lost_service_access(comparison: Comparison) -> Iterator[Danger]:
    """An AWS service may do nothing of the kind any more with what stays: notify, log, run."""
    for access in comparison.access:
        for sentence in in_words(access.lost_services, "may no longer"):
            yield _danger(access.stack, sentence, "may no longer")


def public_exposure(comparison: Comparison) -> Iterator[Danger]:
    """Anyone is let in by a policy."""
    for access in comparison.access:
        public = {grant for grant in access.by_known | access.by_new if grant.who == ANYONE}
        for sentence in in_words(public):
            yield _danger(access.stack, sentence, "may")


def powerful_newcomers(comparison: Comparison) -> Iterator[Danger]:
    """What is new is an administrator, reaches all data, or lets somebody from outside in.

    What is new and less than that is listed as access. A condition narrows nothing here, except one
    of a key to its service. Anyone is `public_exposure`'s.
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
    """Return a danger; a condition that changes alike in several places is one cause."""
    who = sentence.partition(" ")[0]
    _, changes, condition = sentence.partition(CONDITION)
    group = digest(condition) if changes else f"{stack}.{who}.{digest(verb)}"
    return Danger(f"{stack}.{who}.{digest(sentence)}", f"{why}{sentence}", group=group)


class _Own:
    """Who is of the stage itself."""

    def __init__(self, comparison: Comparison) -> None:
        after = comparison.sides[1]
        self._paths = {path for template in after.values() for path in paths(template)}
        self._stacks = tuple(f"{stack}:" for stack in after)
        self._accounts = ("${AWS::AccountId}", comparison.will_be.account or "${AWS::AccountId}")

    def has(self, who: str) -> bool:
        """Whether a principal is a resource of the app, or of its account; or an AWS service."""
        if who in self._paths or who.startswith(self._stacks) or who in self._accounts:
            return True
        if who.endswith((".amazonaws.com", ".amazonaws.com.cn")):
            return True
        return any(f":{account}:" in who for account in self._accounts)


def _guarded(grant: Grant, own: _Own) -> str | None:
    """Return whom a policy of a resource lets in, None where it is nobody from outside."""
    if not grant.guarded:
        return None
    if str(grant.action) in _FEDERATED:
        return "lets in whoever has such a token of an identity provider"
    return None if own.has(grant.who) else "lets in somebody of no account or stack of this stage"


def _power(grant: Grant) -> str | None:
    """Return what is too much, of a policy of who it is for; None where it is not."""
    action, resource = grant.action, grant.resource
    if grant.guarded:
        return None
    if action.pattern == "act":
        return "has a policy for all" if _MANAGED.search(resource.pattern) else None
    if action.pattern == "*":
        return "may do everything"
    if _WHOLE_SERVICE.fullmatch(action.pattern):
        return "may do everything in a service"
    through = any(key == _THROUGH for _, key, _ in grant.condition)
    if through or not _EVERY.fullmatch(_UNKNOWN.sub("x", resource.pattern)):
        return None
    if _stands_for(action.pattern, RULES_ACCESS):
        return "may give itself more"
    return "reaches all data" if _stands_for(action.pattern, DATA) else None


def _stands_for(pattern: str, actions: tuple[str, ...]) -> bool:
    return any(fnmatchcase(action.lower(), pattern.lower()) for action in actions)
