"""The permissions that a change adds or removes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from release.templates import Template
from review.access.grants import Grant, PolicyScope, is_service
from review.access.statements import construct_paths, parse_grants
from review.access.successors import find_successors
from review.values import construct_path, format_value

CAPTURE_ACTIONS = ("s3:PutObject", "kms:Decrypt", "kms:GenerateDataKey")
"""Actions with which a role writes its endpoint's captured data."""

MAX_NARROWER_GRANTS = 3
"""Maximum number of narrower grants shown for a removed grant."""


@dataclass(frozen=True)
class AccessChange:
    """The changed permissions of a stack.

    grants_to_existing: new grants of roles and resources that existed before.
    grants_to_new: grants of new roles and resources.
    removed_grants: removed grants, without `removed_service_grants`.
    removed_service_grants: removed grants without which an AWS service cannot do the action at all.
    removed_denials, new_denials: removed and new Deny statements.

    Removed grants, and denials, are only those of roles and resources that still exist.
    """

    stack: str
    grants_to_existing: set[Grant]
    grants_to_new: set[Grant]
    removed_denials: set[Grant]
    removed_grants: set[Grant]
    removed_service_grants: set[Grant]
    new_denials: set[Grant]


def access_changes(
    before: dict[str, Template], after: dict[str, Template]
) -> Iterator[AccessChange]:
    """Yield the changed permissions of every changed stack.

    A new role is compared with the removed role that it replaces, even if the name changes.
    """
    for stack, template in sorted(after.items()):
        old_template = before.get(stack, {})
        if old_template == template:
            continue
        shared_ids = frozenset(
            old_template.get("Resources", {}).keys() & template["Resources"].keys()
        )
        new_paths = find_successors(old_template, template)
        existing_paths = {new_paths.get(path, path) for path in construct_paths(old_template)}
        old_grants, old_denials = (
            {
                _with_new_paths(grant, new_paths)
                for grant in parse_grants(old_template, effect, shared_ids)
            }
            for effect in ("Allow", "Deny")
        )
        grants, denials = (
            parse_grants(template, effect, shared_ids) for effect in ("Allow", "Deny")
        )
        new_grants = _uncovered_grants(grants, old_grants)
        existing_principals = {grant.principal for grant in old_grants} | existing_paths
        # A grant in a resource policy is new if the resource is new, even to an existing principal.
        grants_to_existing = {
            grant
            for grant in new_grants
            if grant.policy_owner
            in (existing_paths if grant.policy_resource else existing_principals)
            and not _is_for_capture(grant, template)
        }
        remaining_paths = existing_paths & construct_paths(template)
        removed_grants = _removed_grants(old_grants, grants, remaining_paths)
        removed_denials = _removed_grants(old_denials, denials, remaining_paths)
        removed_service_grants = {
            grant
            for grant in removed_grants
            if grant.policy_resource
            and is_service(grant.principal)
            and not _has_other_access(grant, grants)
        }
        other_removed_grants = _without_condition_changes(
            removed_grants - removed_service_grants, new_grants
        )
        new_denials = _without_condition_changes(
            _uncovered_grants(denials, old_denials), removed_denials
        )
        yield AccessChange(
            stack,
            grants_to_existing=grants_to_existing,
            grants_to_new=new_grants - grants_to_existing,
            removed_denials=removed_denials,
            removed_grants={
                replace(grant, narrower_grants=_narrower_grants(grant, grants))
                for grant in other_removed_grants
            },
            removed_service_grants=removed_service_grants,
            new_denials={grant for grant in new_denials if grant.policy_owner in remaining_paths},
        )


def has_more_access(resources: dict[str, Any], old_role: str, new_role: str) -> bool:
    """Return whether `new_role` has a permission that `old_role` lacks; both are logical IDs."""
    old_path, new_path = (construct_path(role, resources) for role in (old_role, new_role))
    grants = parse_grants({"Resources": resources})
    new_grants = {grant for grant in grants if grant.principal == new_path}
    old_grants = [
        replace(grant, principal=new_path) for grant in grants if grant.principal == old_path
    ]
    return not all(any(old.covers(grant) for old in old_grants) for grant in new_grants)


def _with_new_paths(grant: Grant, new_paths: dict[str, str]) -> Grant:
    """Return a grant with new construct paths; `new_paths` is old path -> new path."""
    resource = grant.resource
    for old_path, new_path in new_paths.items():
        suffix = resource.pattern.removeprefix(old_path)
        if suffix != resource.pattern and suffix[:1] in ("", "/", ":"):
            resource = replace(resource, pattern=f"{new_path}{suffix}")
            break
    return replace(
        grant,
        principal=new_paths.get(grant.principal, grant.principal),
        policy_resource=new_paths.get(grant.policy_resource, grant.policy_resource),
        resource=resource,
    )


def _uncovered_grants(grants: set[Grant], other_grants: set[Grant]) -> set[Grant]:
    """Return the grants that no other grant covers.

    If one of the other grants differs only in its condition, `condition_change` is set.
    """
    return {
        replace(part, condition_change=(other_condition, part.condition))
        if other_condition is not None
        else part
        for grant in grants
        if not any(other.covers(grant) for other in other_grants)
        for part in _split_by_exception(grant, other_grants)
        for other_condition in [_other_condition(part, other_grants - grants)]
    }


def _removed_grants(before: set[Grant], after: set[Grant], paths: set[str]) -> set[Grant]:
    """Return the removed grants of the roles and resources with the construct paths `paths`."""
    return {
        replace(grant, condition_change=grant.condition_change and grant.condition_change[::-1])
        for grant in _uncovered_grants(before, after)
        if grant.policy_owner in paths
    }


def _narrower_grants(removed_grant: Grant, grants: set[Grant]) -> tuple[str, ...]:
    """Return the remaining grants that a removed grant included, as texts."""
    narrower = (grant for grant in grants if removed_grant.covers(grant))
    return tuple(
        sorted({f"{grant.action} on {grant.resource}" for grant in narrower})[:MAX_NARROWER_GRANTS]
    )


def _split_by_exception(grant: Grant, old_grants: set[Grant]) -> list[Grant]:
    """Return one grant for each exception that an old grant had, else the grant itself.

    An exception is a value of NotAction or NotResource; without it, the grant has one more action
    or resource.
    """
    for old_grant in old_grants:
        for name in ("resource", "action"):
            scope, old_scope = getattr(grant, name), getattr(old_grant, name)
            same: dict[str, Any] = {name: scope}
            if scope.excepted and old_scope.excepted and replace(old_grant, **same) == grant:
                dropped = sorted({*old_scope.excepted} - {*scope.excepted})
                parts: list[dict[str, Any]] = [{name: PolicyScope(item)} for item in dropped]
                return [replace(grant, **part) for part in parts]
    return [grant]


def _other_condition(grant: Grant, other_grants: set[Grant]) -> Any:
    """Return the condition of an otherwise equal grant, None without such a grant."""
    conditions = (
        other.condition
        for other in other_grants
        if replace(other, condition=grant.condition) == grant
    )
    return next(conditions, None)


def _without_condition_changes(grants: set[Grant], other_grants: set[Grant]) -> set[Grant]:
    """Return the grants without those whose changed condition is part of another grant."""
    changed = {
        replace(grant, condition=frozenset()) for grant in other_grants if grant.condition_change
    }
    return {grant for grant in grants if replace(grant, condition=frozenset()) not in changed}


def _has_other_access(grant: Grant, grants: set[Grant]) -> bool:
    """Return whether a service may still do the action, on other resources or with a condition."""
    return any(
        (other.principal, other.policy_resource) == (grant.principal, grant.policy_resource)
        and other.action.covers(grant.action)
        for other in grants
    )


def _is_for_capture(grant: Grant, template: Template) -> bool:
    """Return whether a grant lets a role write captured data to its destination."""
    resources = template["Resources"]
    configs = (
        resource.get("Properties", {}).get("DataCaptureConfig") for resource in resources.values()
    )
    bucket_and_key = [
        name
        for config in configs
        if config
        for name in (
            f"{format_value(config.get('DestinationS3Uri'), resources).removeprefix('s3://')}/*",
            format_value(config.get("KmsKeyId"), resources),
        )
    ]
    return grant.action.pattern in CAPTURE_ACTIONS and str(grant.resource) in bucket_and_key
