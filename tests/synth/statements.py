"""What the policies of templates allow: as much of IAM's evaluation as the templates use."""

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any

Statement = Mapping[str, Any]
Context = Mapping[str, str]

OPERATORS = {
    "ArnLike": fnmatchcase,
    "Bool": lambda given, wanted: given == wanted.lower(),
    "StringEquals": lambda given, wanted: given == wanted,
    "StringLike": fnmatchcase,
}


def allows(
    statements: Iterable[Statement],
    action: str,
    *,
    resource: str = "*",
    service: str | None = None,
    context: Context | None = None,
) -> bool:
    """Whether statements, whose values are text, allow an action: one does and none denies it.

    `service` is who calls, in the policy of a resource; `resource` is "*" in a key's own policy.
    """
    given = context or {}
    fitting = [
        it
        for it in statements
        if _fits(it["Action"], action)
        and _fits(it["Resource"], resource)
        and (service is None or _is(it["Principal"], service))
        and _holds(it.get("Condition", {}), given)
    ]
    effects = {it["Effect"] for it in fitting}
    return effects == {"Allow"}


def _fits(patterns: Any, value: str) -> bool:
    listed = patterns if isinstance(patterns, list) else [patterns]
    return any(fnmatchcase(value.lower(), it.lower()) for it in listed)


def _is(principal: Any, service: str) -> bool:
    if principal == "*" or principal == {"AWS": "*"}:
        return True
    return _fits(principal.get("Service", []), service)


def _holds(conditions: Mapping[str, Mapping[str, Any]], given: Context) -> bool:
    return all(
        key in given and any(OPERATORS[operator](given[key], it) for it in _texts(wanted))
        for operator, keys in conditions.items()
        for key, wanted in keys.items()
    )


def _texts(wanted: Any) -> list[str]:
    return [str(it) for it in (wanted if isinstance(wanted, list) else [wanted])]
