"""The permissions that a change adds or removes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

from release.templates import Template
from review.access.grants import Grant, difference, is_service
from review.access.statements import construct_paths, parse_grants
from review.values import construct_path, format_value

CAPTURE_ACTIONS = ("s3:PutObject", "kms:Decrypt", "kms:GenerateDataKey")
"""Actions with which a role writes its endpoint's captured data."""


@dataclass(frozen=True)
class AccessChange:
    """The changed permissions of a stack.

    grants_to_existing: new grants of roles and resources that existed before.
    grants_to_new: grants of new roles and resources.
    removed_grants: removed grants, without `removed_service_grants`.
    removed_service_grants: removed grants without which an AWS service cannot do the action at all,
        or under a condition with narrower values only.
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

    @property
    def is_equal(self) -> bool:
        """Whether the policies give the same access as before, though they may read otherwise."""
        return not any(value for name, value in vars(self).items() if name != "stack")


def access_changes(
    before: dict[str, Template], after: dict[str, Template]
) -> Iterator[AccessChange]:
    """Yield the changed permissions of every changed stack.

    A new resource is compared with the removed one that it replaces, even if the name changes.
    """
    for stack, template in sorted(after.items()):
        old_template = before.get(stack, {})
        if old_template == template:
            continue
        old, new = (side.get("Resources", {}) for side in (old_template, template))
        shared_ids = frozenset(old.keys() & new.keys())
        new_paths = _successors(old, new)
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
        new_grants = _uncovered(grants, old_grants)
        existing_principals = {grant.principal for grant in old_grants} | existing_paths
        # A grant in a resource policy is new if the resource is new, even to an existing principal.
        grants_to_existing = {
            grant
            for grant in new_grants
            if grant.policy_owner
            in (existing_paths if grant.policy_resource else existing_principals)
            and not _is_for_capture(grant, new)
        }
        remaining_paths = existing_paths & construct_paths(template)
        removed_grants, removed_denials = (
            {
                grant
                for grant in _uncovered(old_side, new_side, is_before=True)
                if grant.policy_owner in remaining_paths
            }
            for old_side, new_side in ((old_grants, grants), (old_denials, denials))
        )
        removed_service_grants = {
            grant
            for grant in removed_grants
            if grant.policy_resource
            and is_service(grant.principal)
            and (
                not any(_is_same_action(grant, other) for other in grants)
                or (_has_narrower_values(grant) and grant in _unpaired(removed_grants, new_grants))
            )
        }
        yield AccessChange(
            stack,
            grants_to_existing=grants_to_existing,
            grants_to_new=new_grants - grants_to_existing,
            removed_denials=removed_denials,
            removed_grants={
                grant
                for grant in removed_grants - removed_service_grants
                if not any(
                    replace(other, condition=frozenset()).covers(grant) for other in new_grants
                )
            },
            removed_service_grants=removed_service_grants,
            new_denials={
                grant
                for grant in _unpaired(_uncovered(denials, old_denials), removed_denials)
                if grant.policy_owner in remaining_paths
            },
        )


def has_more_access(resources: dict[str, Any], old_role: str, new_role: str) -> bool:
    """Return whether `new_role` has a permission that `old_role` lacks; both are logical IDs."""
    old_path, new_path = (construct_path(role, resources) for role in (old_role, new_role))
    grants = parse_grants({"Resources": resources})
    old_grants = [
        replace(grant, principal=new_path) for grant in grants if grant.principal == old_path
    ]
    return any(
        not any(old.covers(grant) for old in old_grants)
        for grant in grants
        if grant.principal == new_path
    )


def _successors(old: dict[str, Any], new: dict[str, Any]) -> dict[str, str]:
    """Return path of a removed resource -> path of the new resource that replaces it.

    The new resource has the same properties; a new role has the same trust policy.
    """
    removed = [logical_id for logical_id in old if logical_id not in new]
    created = [logical_id for logical_id in new if logical_id not in old]
    paths = {}
    for logical_id in removed:
        identity = _identity(old[logical_id])
        equal = [other for other in created if _identity(new[other]) == identity]
        if equal:
            created.remove(equal[0])
            paths[construct_path(logical_id, old)] = construct_path(equal[0], new)
    return paths


def _identity(resource: dict[str, Any]) -> tuple[str, Any]:
    properties = resource.get("Properties", {})
    is_role = resource["Type"] == "AWS::IAM::Role"
    return resource["Type"], properties.get("AssumeRolePolicyDocument") if is_role else properties


def _with_new_paths(grant: Grant, new_paths: dict[str, str]) -> Grant:
    """Return a grant with new construct paths; `new_paths` is old path -> new path."""
    resource = grant.resource
    for old_path, new_path in new_paths.items():
        suffix = resource.removeprefix(old_path)
        if suffix != resource and suffix[:1] in ("", "/", ":"):
            resource = f"{new_path}{suffix}"
            break
    return replace(
        grant,
        principal=new_paths.get(grant.principal, grant.principal),
        policy_resource=new_paths.get(grant.policy_resource, grant.policy_resource),
        resource=resource,
    )


def _uncovered(
    grants: set[Grant], other_grants: set[Grant], *, is_before: bool = False
) -> set[Grant]:
    """Return the part of each grant that no other grant covers; `is_before`: they are the base's.

    If a grant of only the other side differs in its condition, `condition_change` is set.
    """
    others = {replace(grant, condition=frozenset()): grant.condition
              for grant in other_grants - grants}  # fmt: skip
    result = set()
    for grant in grants:
        if not any(other.covers(grant) for other in other_grants):
            condition = others.get(replace(grant, condition=frozenset()))
            change = None
            if condition is not None:
                conditions = condition, grant.condition
                change = conditions[::-1] if is_before else conditions
            part = reduce(difference, other_grants, grant)
            result.add(replace(part, condition_change=change))
    return result


def _unpaired(grants: set[Grant], others: set[Grant]) -> set[Grant]:
    """Return the grants without those of which only the condition changes in another one."""
    pairs = {replace(grant, condition=frozenset()) for grant in others}
    return {grant for grant in grants if replace(grant, condition=frozenset()) not in pairs}


def _has_narrower_values(grant: Grant) -> bool:
    """Return whether a removed grant is there with other values of the same keys."""
    if not grant.condition_change:
        return False
    before, after = (
        {tuple(entry.split(" ", 2)[:2]) for entry in condition}
        for condition in grant.condition_change
    )
    return before == after


def _is_same_action(grant: Grant, other: Grant) -> bool:
    """Return whether another grant allows the action, on other resources or with a condition."""
    return replace(other, resource=grant.resource, condition=grant.condition).covers(grant)


def _is_for_capture(grant: Grant, resources: dict[str, Any]) -> bool:
    """Return whether a grant lets a role write captured data to its destination."""
    configs = (
        resource.get("Properties", {}).get("DataCaptureConfig") for resource in resources.values()
    )
    return grant.action in CAPTURE_ACTIONS and any(
        grant.resource
        in (
            f"{format_value(config.get('DestinationS3Uri'), resources).removeprefix('s3://')}/*",
            format_value(config.get("KmsKeyId"), resources),
        )
        for config in configs
        if config
    )
