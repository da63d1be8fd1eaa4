"""Grants: single actions that a policy allows or denies.

Sources: IAM user guide, reference_policies_elements (NotAction, NotResource, NotPrincipal) and
reference_policies_condition-logic-multiple-context-keys-or-values.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

ANYONE = "anyone"
NETWORK = "anyone in the VPC"
"""Anyone in the policy of a VPC endpoint, which limits the network's traffic and grants nothing."""
CONDITION_CHANGE = ": the condition"
"""Text before a changed condition in the sentence about a grant."""

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
            and self.condition <= other.condition
        )


def is_service(principal: str) -> bool:
    """Return whether a principal is an AWS service."""
    return principal.endswith((".amazonaws.com", ".amazonaws.com.cn"))


def grant_sentences(grants: Iterable[Grant], verb: str = "may") -> list[str]:
    """Return a sentence for each principal, resource and condition, with all actions."""
    actions_by_key: dict[tuple[str, str, str], list[str]] = {}
    for grant in sorted(grants, key=lambda grant: (grant.principal, grant.resource, grant.action)):
        resource = grant.resource
        if grant.policy_resource and resource == "*":
            resource = grant.policy_resource
        key = grant.principal, resource, _condition_text(grant)
        actions_by_key.setdefault(key, []).append(grant.action)
    return [
        f"{principal} {verb} {', '.join(dict.fromkeys(actions))} on {resource}{condition}"
        for (principal, resource, condition), actions in sorted(actions_by_key.items())
    ]


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
    return " and ".join(sorted(condition))


def _matches(pattern: str, text: str) -> bool:
    """Return whether a pattern matches a text or another pattern; brackets are literal."""
    return fnmatchcase(text.lower(), pattern.lower().replace("[", "[[]"))
