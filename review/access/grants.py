"""Grants: single actions that a policy allows or denies.

Sources: IAM user guide, reference_policies_elements (NotAction, NotResource, NotPrincipal) and
reference_policies_condition-logic-multiple-context-keys-or-values.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from review.values import as_list, format_value

ANYONE = "anyone"
NETWORK = "anyone in the VPC"
"""Anyone in the policy of a VPC endpoint, which limits the network's traffic and grants nothing."""
CONDITION_CHANGE = ": the condition"
"""Text before a changed condition in the sentence about a grant."""

IF_EXISTS = "IfExists"
Condition = frozenset[tuple[str, str, frozenset[str]]]
"""(operator, key, values) of each entry: a request must match all entries, by one value of each."""


@dataclass(frozen=True, order=True)
class PolicyScope:
    """The actions or resources that match a pattern with * and ?, but no pattern in `excepted`."""

    pattern: str
    excepted: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.excepted:
            return self.pattern
        return f"everything except {', '.join(self.excepted)}"

    def covers(self, other: "PolicyScope") -> bool:
        """Return whether this scope contains the whole other scope."""
        return _matches(self.pattern, other.pattern) and all(
            any(_matches(value, exception) for value in other.excepted)
            or _are_disjoint(exception, other.pattern)
            for exception in self.excepted
        )


@dataclass(frozen=True, order=True)
class Grant:
    """One action of a statement.

    principal, resource: construct paths, ARNs or other readable names.
    policy_resource: the resource whose policy has the statement, such as a bucket, a key or a role
        that may be assumed; empty for an identity policy.
    condition_change: the conditions before and after, if they are the only difference.
    narrower_grants: the grants that a removed grant included and that remain, as texts.
    """

    principal: str
    action: PolicyScope
    resource: PolicyScope
    condition: Condition = frozenset()
    policy_resource: str = ""
    condition_change: tuple[Condition, Condition] | None = field(default=None, compare=False)
    narrower_grants: tuple[str, ...] = field(default=(), compare=False)

    @property
    def policy_owner(self) -> str:
        """The resource of a resource policy, or the principal of an identity policy."""
        return self.policy_resource or self.principal

    def covers(self, other: "Grant") -> bool:
        """Return whether this grant includes the whole other grant."""
        return (
            self.policy_resource == other.policy_resource
            and (
                self.principal == other.principal
                or (self.principal == ANYONE and bool(self.policy_resource))
            )
            and self.action.covers(other.action)
            and self.resource.covers(other.resource)
            and all(_is_implied(entry, other.condition) for entry in self.condition)
        )


def is_service(principal: str) -> bool:
    """Return whether a principal is an AWS service."""
    return principal.endswith((".amazonaws.com", ".amazonaws.com.cn"))


def parse_condition(statement: dict[str, Any], resources: dict[str, Any]) -> Condition:
    """Return the condition of a statement."""
    return frozenset(
        (operator, key, frozenset(format_value(value, resources) for value in as_list(values)))
        for operator, keys in statement.get("Condition", {}).items()
        for key, values in (keys.items() if isinstance(keys, dict) else [("", keys)])
    )


def grant_sentences(grants: Iterable[Grant], verb: str = "may") -> list[str]:
    """Return a sentence for each principal, resource and condition, with all actions."""
    actions_by_key: dict[tuple[str, str, str], list[str]] = {}
    for grant in sorted(grants, key=lambda grant: (grant.principal, grant.resource, grant.action)):
        resource = str(grant.resource)
        if grant.policy_resource and grant.resource == PolicyScope("*"):
            resource = grant.policy_resource
        narrower = grant.narrower_grants
        still = f", but may still {' and '.join(narrower)}" if narrower else ""
        key = grant.principal, resource, _condition_text(grant) + still
        actions_by_key.setdefault(key, []).append(str(grant.action))
    return [
        f"{principal} {verb} {', '.join(dict.fromkeys(actions))} on {resource}{condition}"
        for (principal, resource, condition), actions in sorted(actions_by_key.items())
    ]


def _condition_text(grant: Grant) -> str:
    if grant.condition_change is None:
        return f" if {_format_condition(grant.condition)}" if grant.condition else ""
    before, after = grant.condition_change
    if not (new := after - before):
        return f"{CONDITION_CHANGE} {_format_condition(before - after)} is removed"
    if not (removed := before - after):
        return f"{CONDITION_CHANGE} {_format_condition(new)} is new"
    return f"{CONDITION_CHANGE} changes: {_format_condition(removed)} -> {_format_condition(new)}"


def _format_condition(condition: Condition) -> str:
    return " and ".join(
        f"{key} {operator} {' or '.join(sorted(values))}"
        for operator, key, values in sorted(condition, key=lambda entry: entry[:2])
    )


def _is_implied(entry: tuple[str, str, frozenset[str]], condition: Condition) -> bool:
    """Return whether every request that matches a condition also matches `entry`.

    More values admit more requests, but fewer with an operator such as StringNotEquals. IfExists
    also admits requests without the key.
    """
    operator, key, values = entry
    for other_operator, other_key, other_values in condition:
        if other_key.lower() != key.lower() or not _is_as_narrow(other_operator, operator):
            continue
        if "Not" in operator:
            return values <= other_values
        return all(any(_matches(value, other) for value in values) for other in other_values)
    return False


def _is_as_narrow(operator: str, other: str) -> bool:
    """Return whether an operator admits no more requests than `other` with the same values."""
    name, other_name = operator.removesuffix(IF_EXISTS), other.removesuffix(IF_EXISTS)
    is_pattern = "Not" not in name and other_name == name.replace("Equals", "Like")
    return (other_name == name or is_pattern) and (operator == name or other != other_name)


def _matches(pattern: str, text: str) -> bool:
    """Return whether a pattern matches a text or another pattern; brackets are literal."""
    return fnmatchcase(text.lower(), pattern.lower().replace("[", "[[]"))


def _are_disjoint(pattern: str, other: str) -> bool:
    """Return whether no text matches both patterns, by the texts before their first wildcard."""
    if not set("*?") & set(other):
        return not _matches(pattern, other)
    start, other_start = (
        text.lower().replace("?", "*").partition("*")[0] for text in (pattern, other)
    )
    return not (start.startswith(other_start) or other_start.startswith(start))
