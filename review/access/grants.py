"""Grants: single actions that a policy allows or denies.

Sources: IAM user guide, reference_policies_elements (NotAction, NotResource, NotPrincipal) and
reference_policies_condition-logic-multiple-context-keys-or-values.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase

from review.values import first_names

ANYONE = "anyone"
NETWORK = "anyone in the VPC"
"""Anyone in the policy of a VPC endpoint, which limits the network's traffic and grants nothing."""
CONDITION_CHANGE = ": the condition"
"""Text before a changed condition in the sentence about a grant."""

EVERYTHING_EXCEPT = "everything except "
"""The start of the pattern of NotAction and NotResource."""

SHARED_SERVICES = re.compile(
    r"s3:(?!ListAllMyBuckets)|sts:AssumeRole|kms:\w*crypt|lambda:Invoke|(sns|sqs):|dynamodb:\w*Item"
    r"|secretsmanager:GetSecretValue|\*"
)
"""Actions on resources that can admit other accounts (IAM user guide,
reference_aws-services-that-work-with-iam, resource-based policies)."""

WILD_BUCKET = re.compile(r"arn:[^:]*:s3:::[^/]*[*?]")
"""Names of buckets are global (S3 user guide, bucketnamingrules)."""
_PSEUDO_PARAMETER = re.compile(r"\$\{AWS::(\w+)\}")
OR = " or "
"""Between the values of an entry of a condition."""
Condition = frozenset[str]
"""A text for each entry, KEY OPERATOR VALUES: a request must match all entries."""


@dataclass(frozen=True, order=True)
class Grant:
    """One action of a statement.

    principal, resource: construct paths, ARNs or other readable names; action and resource may have
        wildcards, or be `everything except PATTERNS`.
    policy_resource: the resource whose policy has the statement, such as a bucket, a key or a role
        that may be assumed; empty for an identity policy.
    condition_change: the conditions before and after, if they are the only difference.
    """

    principal: str
    action: str
    resource: str
    condition: Condition = frozenset()
    policy_resource: str = ""
    condition_change: tuple[Condition, Condition] | None = field(default=None, compare=False)

    def __str__(self) -> str:
        """Return all parts of the grant, in an order that does not change."""
        parts = self.principal, self.policy_resource, self.resource, self.action
        return " ".join((*parts, *sorted(self.condition), _condition_text(self)))

    @property
    def policy_owner(self) -> str:
        """The resource of a resource policy, or the principal of an identity policy."""
        return self.policy_resource or self.principal

    def covers(self, other: "Grant") -> bool:
        """Return whether this grant certainly includes the whole other grant."""
        return (
            self.policy_resource == other.policy_resource
            and self.principal in (other.principal, ANYONE)
            and _matches(self.action, other.action)
            and _matches(self.resource, other.resource)
            and all(_includes(entry, other.condition) for entry in self.condition)
        )


def difference(grant: Grant, other: Grant) -> Grant:
    """Return what a grant adds to another one that names only other exceptions of NotResource.

    The whole grant if they differ in anything else.
    """
    resources = grant.resource, other.resource
    if replace(other, resource=grant.resource) != grant or not all(
        resource.startswith(EVERYTHING_EXCEPT) for resource in resources
    ):
        return grant
    excepted, other_excepted = map(_exceptions, resources)
    added = [name for name in other_excepted if not _is_any(excepted, name)]
    return replace(grant, resource=", ".join(added))


def _includes(entry: str, condition: Condition) -> bool:
    """Return whether each request that meets a condition also meets `entry`, as far as is certain.

    `entry` has the form KEY OPERATOR PATTERNS.
    """
    if entry in condition:
        return True
    key, _, rest = entry.partition(" ")
    operator, _, patterns = rest.partition(" ")
    if operator not in ("ArnLike", "StringLike"):
        return False
    start = f"{key} {operator} "
    values = (other.removeprefix(start) for other in condition if other.startswith(start))
    is_arn = operator == "ArnLike"
    return any(
        all(any(_is_like(text, pattern, is_arn=is_arn) for pattern in patterns.split(OR))
            for text in value.split(OR))
        for value in values
    )  # fmt: skip


def _is_like(text: str, pattern: str, *, is_arn: bool) -> bool:
    """Return whether `pattern` matches everything that the pattern `text` matches.

    The six parts of an ARN are compared one by one. `${*}` and `${?}`, which are literal characters
    in IAM, are not supported: a pattern with them matches nothing.
    """
    if "${*}" in pattern or "${?}" in pattern:
        return False
    parts, patterns = (
        _PSEUDO_PARAMETER.sub(r"{\1}", side).split(":", 5 if is_arn else 0)
        for side in (text, pattern)
    )
    return len(parts) == len(patterns) and all(
        fnmatchcase(part, _as_glob(own)) for part, own in zip(parts, patterns, strict=True)
    )


def is_service(principal: str) -> bool:
    """Return whether a principal is an AWS service."""
    return principal.endswith((".amazonaws.com", ".amazonaws.com.cn"))


def grant_groups(grants: Iterable[Grant]) -> list[list[Grant]]:
    """Return the grants of each sentence: the same actions of a principal, under one condition.

    Equal changes of a condition are one sentence for all principals.
    """
    by_resource: dict[tuple[str, str, str], list[Grant]] = {}
    for grant in sorted(grants, key=str):
        key = grant.principal, _resource(grant), _condition_text(grant)
        by_resource.setdefault(key, []).append(grant)
    groups: dict[tuple[object, ...], list[Grant]] = {}
    for (principal, _, condition), members in by_resource.items():
        actions = frozenset(grant.action for grant in members)
        who = None if condition.startswith(CONDITION_CHANGE) else principal
        groups.setdefault((who, actions, condition), []).extend(members)
    return [*groups.values()]


def grant_sentences(grants: Iterable[Grant], verb: str = "may") -> list[str]:
    """Return a sentence for each of the groups."""
    return sorted(grant_sentence(group, verb) for group in grant_groups(grants))


def grant_sentence(group: list[Grant], verb: str) -> str:
    """Return PRINCIPALS may ACTIONS on RESOURCES, with the condition."""
    principals, actions, resources = (
        [*dict.fromkeys(values)]
        for values in zip(
            *((grant.principal, grant.action, _resource(grant)) for grant in group), strict=True
        )
    )
    condition = _condition_text(group[0])
    what = f"{', '.join(actions)} on {first_names(resources)}"
    if not condition:
        what = what.removesuffix(",")
    keys = group[0].condition
    is_about_caller = keys and all(entry.startswith("aws:Principal") for entry in keys)
    note = " (which is about the caller)" if what.endswith(",") and is_about_caller else ""
    return f"{first_names(principals)} {verb} {what}{condition}{note}"


def _resource(grant: Grant) -> str:
    """Return the resource of a grant; for everything in a resource policy, the policy's.

    The policy of a VPC endpoint is about the resources of all accounts.
    """
    if WILD_BUCKET.match(grant.resource) and not any(
        entry.startswith("aws:ResourceAccount") for entry in grant.condition
    ):
        return f"{grant.resource} (buckets of every account)"
    if grant.resource != "*":
        return grant.resource
    if grant.policy_resource and grant.principal != NETWORK:
        return grant.policy_resource
    if not SHARED_SERVICES.match(grant.action):
        return "every resource (*)"
    return "every resource (*), also of other accounts,"


def _condition_text(grant: Grant) -> str:
    if grant.condition_change is None:
        return f" if {_join(grant.condition)}" if grant.condition else ""
    before, after = grant.condition_change
    if not (new := after - before):
        return f"{CONDITION_CHANGE} {_join(before - after)} is removed"
    if not (removed := before - after):
        return f"{CONDITION_CHANGE} {_join(new)} is new"
    return f"{CONDITION_CHANGE} changes: {_join(removed)} -> {_join(new)}"


def _join(condition: Condition) -> str:
    """Return the entries, with a note on operators that match a request without the key.

    Source: IAM user guide, reference_policies_elements_condition_operators (IfExists), and
    condition-single-vs-multi-valued-context-keys (ForAllValues).
    """
    return " and ".join(
        f"{entry} (or without it)" if re.search(r"IfExists\b|\bForAllValues:", entry) else entry
        for entry in sorted(condition)
    )


def _matches(pattern: str, text: str) -> bool:
    """Return whether a pattern matches a text or another pattern; brackets are literal."""
    if pattern.startswith(EVERYTHING_EXCEPT) and text.startswith(EVERYTHING_EXCEPT):
        return all(_is_any(_exceptions(text), excepted) for excepted in _exceptions(pattern))
    return fnmatchcase(text.lower(), _as_glob(pattern.lower()))


def _as_glob(pattern: str) -> str:
    """Return a pattern of IAM for `fnmatch`: `[` is literal, and `?` does not match a `*`."""
    return pattern.replace("[", "[[]").replace("?", "[!*]")


def _exceptions(pattern: str) -> list[str]:
    return pattern.removeprefix(EVERYTHING_EXCEPT).split(", ")


def _is_any(patterns: list[str], text: str) -> bool:
    return any(_matches(pattern, text) for pattern in patterns)
