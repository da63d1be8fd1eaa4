"""The permissions that a change adds or removes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from release.review.access.grants import Grant, PolicyScope
from release.review.access.statements import construct_paths, parse_grants
from release.review.access.successors import successors
from release.review.values import construct_path, format_value
from release.tree import Template

CAPTURE = ("s3:PutObject", "kms:Decrypt", "kms:GenerateDataKey")
"""Actions with which a role writes its endpoint's captured data."""

MAX_REMAINING = 3
"""Maximum number of narrower grants shown for a removed grant."""


@dataclass(frozen=True)
class AccessChange:
    """The changed permissions of a stack.

    by_existing: new grants of roles and resources that existed before.
    by_new: grants of new roles and resources.
    lost: removed grants.
    lost_services: removed grants without which an AWS service cannot do the action at all.
    lost_denials, new_denials: removed and new Deny statements.

    The last four are those of roles and resources that are not removed.
    """

    stack: str
    by_existing: set[Grant]
    by_new: set[Grant]
    lost_denials: set[Grant]
    lost: set[Grant]
    lost_services: set[Grant]
    new_denials: set[Grant]


def access_changes(
    before: dict[str, Template], after: dict[str, Template]
) -> Iterator[AccessChange]:
    """Yield the changed permissions of every changed stack.

    A new role is compared with the removed role that it replaces, even if the name changes.
    """
    for stack, template in sorted(after.items()):
        earlier = before.get(stack, {})
        if earlier == template:
            continue
        stays = frozenset(earlier.get("Resources", {}).keys() & template["Resources"].keys())
        names = successors(earlier, template)
        existing = {names.get(name, name) for name in construct_paths(earlier)}
        old, old_denials = (
            {_with_new_names(item, names) for item in parse_grants(earlier, effect, stays)}
            for effect in ("Allow", "Deny")
        )  # fmt: skip
        new, denials = (parse_grants(template, effect, stays) for effect in ("Allow", "Deny"))
        gained = _uncovered(new, old)
        principals = {grant.principal for grant in old} | existing
        # The grants of a resource policy count as new with the resource, such as of a new role.
        known = {
            grant
            for grant in gained
            if (grant.policy_resource or grant.principal)
            in (existing if grant.policy_resource else principals)
            and not _is_for_capture(grant, template)
        }
        kept = existing & construct_paths(template)
        lost, lost_denials = _removed(old, new, kept), _removed(old_denials, denials, kept)
        services = {
            grant for grant in lost if _is_service(grant) and not _has_other_access(grant, new)
        }
        new_denials = _without_condition_changes(_uncovered(denials, old_denials), lost_denials)
        yield AccessChange(
            stack,
            by_existing=known,
            by_new=gained - known,
            lost_denials=lost_denials,
            lost={
                replace(grant, remaining=_narrower_grants(grant, new))
                for grant in _without_condition_changes(lost - services, gained)
            },
            lost_services=services,
            new_denials={
                grant for grant in new_denials if (grant.policy_resource or grant.principal) in kept
            },
        )


def has_more_access(resources: dict[str, Any], role: str, other: str) -> bool:
    """Return whether the role `other` may do more than `role`; both are logical IDs."""
    names = [construct_path(name, resources) for name in (role, other)]
    grants = parse_grants({"Resources": resources})
    own = [replace(grant, principal=names[1]) for grant in grants if grant.principal == names[0]]
    others = (grant for grant in grants if grant.principal == names[1])
    return not all(any(known.covers(grant) for known in own) for grant in others)


def _with_new_names(grant: Grant, names: dict[str, str]) -> Grant:
    """Return a grant with renamed resources."""
    principal, policy_resource = (
        names.get(item, item) for item in (grant.principal, grant.policy_resource)
    )
    resource = grant.resource
    for old, new in names.items():
        end = resource.pattern.removeprefix(old)
        if end != resource.pattern and end[:1] in ("", "/", ":"):
            resource = replace(resource, pattern=f"{new}{end}")
            break
    return replace(grant, principal=principal, policy_resource=policy_resource, resource=resource)


def _uncovered(grants: set[Grant], others: set[Grant]) -> set[Grant]:
    """Return grants that `others` do not cover; `condition_change` is set if only that differs."""
    return {
        replace(part, condition_change=(earlier, part.condition)) if earlier is not None else part
        for grant in grants
        if not any(other.covers(grant) for other in others)
        for part in _dropped_exceptions(grant, others)
        for earlier in [_condition(part, others - grants)]
    }


def _removed(before: set[Grant], after: set[Grant], kept: set[str]) -> set[Grant]:
    """Return the removed grants of the roles and resources in `kept`."""
    return {
        replace(grant, condition_change=grant.condition_change and grant.condition_change[::-1])
        for grant in _uncovered(before, after)
        if (grant.policy_resource or grant.principal) in kept
    }


def _narrower_grants(grant: Grant, others: set[Grant]) -> tuple[str, ...]:
    """Return the remaining grants that a removed grant included."""
    narrower = (other for other in others if grant.covers(other))
    return tuple(
        sorted({f"{other.action} on {other.resource}" for other in narrower})[:MAX_REMAINING]
    )


def _dropped_exceptions(grant: Grant, others: set[Grant]) -> list[Grant]:
    """Return one grant for each exception that a grant no longer has, else the grant itself."""
    for other in others:
        for name in ("resource", "action"):
            scope, old = getattr(grant, name), getattr(other, name)
            same: dict[str, Any] = {name: scope}
            if scope.excepted and old.excepted and replace(other, **same) == grant:
                dropped = sorted({*old.excepted} - {*scope.excepted})
                parts: list[dict[str, Any]] = [{name: PolicyScope(item)} for item in dropped]
                return [replace(grant, **part) for part in parts]
    return [grant]


def _condition(grant: Grant, others: set[Grant]) -> Any:
    """Return the condition of an otherwise equal grant, None without such a grant."""
    same = (item.condition for item in others if replace(item, condition=grant.condition) == grant)
    return next(same, None)


def _without_condition_changes(grants: set[Grant], others: set[Grant]) -> set[Grant]:
    """Return the grants that `others` do not already describe as a changed condition."""
    known = {replace(grant, condition=frozenset()) for grant in others if grant.condition_change}
    return {grant for grant in grants if replace(grant, condition=frozenset()) not in known}


def _is_service(grant: Grant) -> bool:
    return bool(grant.policy_resource) and grant.principal.endswith(
        (".amazonaws.com", ".amazonaws.com.cn")
    )


def _has_other_access(grant: Grant, others: set[Grant]) -> bool:
    """Return whether a service may still do the action, on other resources or with a condition."""
    return any(
        (other.principal, other.policy_resource) == (grant.principal, grant.policy_resource)
        and other.action.covers(grant.action)
        for other in others
    )


def _is_for_capture(grant: Grant, template: Template) -> bool:
    """Return whether a grant lets a role write captured data to its destination."""
    resources = template["Resources"]
    configs = (item.get("Properties", {}).get("DataCaptureConfig") for item in resources.values())
    places = [
        place
        for config in configs
        if config
        for place in (
            f"{format_value(config.get('DestinationS3Uri'), resources).removeprefix('s3://')}/*",
            format_value(config.get("KmsKeyId"), resources),
        )
    ]
    return grant.action.pattern in CAPTURE and str(grant.resource) in places
