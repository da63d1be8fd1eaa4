"""Grants (single actions that a policy allows or denies), and their comparison.

Sources: IAM user guide, reference_policies_elements (NotAction, NotResource, NotPrincipal) and
reference_policies_condition-logic-multiple-context-keys-or-values.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from release.review.values import as_list, format_value

ANYONE = "anyone"
CONDITION = ": the condition"
IF_EXISTS = "IfExists"
Condition = frozenset[tuple[str, str, frozenset[str]]]
"""Operator, key and values: all entries must match, each with one of its values."""


@dataclass(frozen=True, order=True)
class PolicyScope:
    """The texts that match an IAM pattern (with * and ?), except those that match `excepted`."""

    pattern: str
    excepted: tuple[str, ...] = ()

    def __str__(self) -> str:
        if not self.excepted:
            return self.pattern
        return f"everything except {', '.join(self.excepted)}"

    def covers(self, other: "PolicyScope") -> bool:
        """Return whether this scope contains the other."""
        return _matches(self.pattern, other.pattern) and all(
            any(_matches(value, mine) for value in other.excepted) or _disjoint(mine, other.pattern)
            for mine in self.excepted
        )


@dataclass(frozen=True, order=True)
class Grant:
    """One action of a statement.

    principal, resource: readable names.
    policy_resource: the resource of a resource policy (a bucket, a key, a role that may be
        assumed), empty for a policy of the principal.
    condition_change: the conditions before and after, if only they differ.
    remaining: the narrower grants that remain of a removed grant.
    """

    principal: str
    action: PolicyScope
    resource: PolicyScope
    condition: Condition = frozenset()
    policy_resource: str = ""
    condition_change: tuple[Condition, Condition] | None = field(default=None, compare=False)
    remaining: tuple[str, ...] = field(default=(), compare=False)

    def covers(self, other: "Grant") -> bool:
        """Return whether this grant includes `other`."""
        return (
            self.policy_resource == other.policy_resource
            and (
                self.principal == other.principal
                or (self.principal == ANYONE and bool(self.policy_resource))
            )
            and self.action.covers(other.action)
            and self.resource.covers(other.resource)
            and all(_restricts(item, other.condition) for item in self.condition)
        )


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
    for grant in sorted(grants, key=lambda item: (item.principal, item.resource, item.action)):
        resource = str(grant.resource)
        if grant.policy_resource and grant.resource == PolicyScope("*"):
            resource = grant.policy_resource
        still = f", still {' and '.join(grant.remaining)}" if grant.remaining else ""
        key = grant.principal, resource, _condition_text(grant) + still
        actions_by_key.setdefault(key, []).append(str(grant.action))
    return [
        f"{principal} {verb} {', '.join(dict.fromkeys(actions))} on {resource}{condition}"
        for (principal, resource, condition), actions in sorted(actions_by_key.items())
    ]


def _condition_text(grant: Grant) -> str:
    if grant.condition_change is None:
        return f" if {_joined(grant.condition)}" if grant.condition else ""
    before, after = grant.condition_change
    if not (new := after - before):
        return f"{CONDITION} {_joined(before - after)} is removed"
    if not (removed := before - after):
        return f"{CONDITION} {_joined(new)} is new"
    return f"{CONDITION} changes: {_joined(removed)} -> {_joined(new)}"


def _joined(condition: Condition) -> str:
    return " and ".join(
        f"{key} {operator} {' or '.join(sorted(values))}"
        for operator, key, values in sorted(condition, key=lambda item: item[:2])
    )


def _restricts(part: tuple[str, str, frozenset[str]], condition: Condition) -> bool:
    """Return whether a condition is at least as narrow as the entry `part` of another one.

    More values admit more requests, but fewer with an operator such as StringNotEquals. IfExists
    also admits requests without the key.
    """
    operator, key, values = part
    for other, name, others in condition:
        if name.lower() != key.lower() or not _is_as_narrow(other, operator):
            continue
        if "Not" in operator:
            return values <= others
        return all(any(_matches(value, item) for value in values) for item in others)
    return False


def _is_as_narrow(operator: str, other: str) -> bool:
    """Return whether an operator admits no more requests than `other` with the same values."""
    name, other_name = operator.removesuffix(IF_EXISTS), other.removesuffix(IF_EXISTS)
    is_pattern = "Not" not in name and other_name == name.replace("Equals", "Like")
    return (other_name == name or is_pattern) and (operator == name or other != other_name)


def _matches(pattern: str, text: str) -> bool:
    """Return whether a pattern matches a text or another pattern; brackets are literal."""
    return fnmatchcase(text.lower(), pattern.lower().replace("[", "[[]"))


def _disjoint(one: str, other: str) -> bool:
    """Return whether no text matches both patterns, by the parts before their wildcards."""
    if not set("*?") & set(other):
        return not _matches(one, other)
    starts = [item.lower().replace("?", "*").partition("*")[0] for item in (one, other)]
    return not (starts[0].startswith(starts[1]) or starts[1].startswith(starts[0]))
