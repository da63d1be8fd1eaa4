"""New resources that replace removed ones, even if the name changes."""

from typing import Any

from release.templates import Template, references
from review.values import construct_path

ROLE = "AWS::IAM::Role"


def find_successors(before: Template, after: Template) -> dict[str, str]:
    """Return path of a removed resource -> path of the new resource that replaces it.

    The new resource has the same properties. A new role is used by the same resources, or it has
    the same trust policy and is used by the same types of resources.
    """
    old, new = before.get("Resources", {}), after.get("Resources", {})
    removed_ids = [logical_id for logical_id in old if logical_id not in new]
    new_ids = [logical_id for logical_id in new if logical_id not in old]
    successor_ids: dict[str, str] = {}
    for removed_id in removed_ids:
        if old[removed_id]["Type"] != ROLE:
            equal_ids = (
                new_id
                for new_id in new_ids
                if new_id not in successor_ids.values()
                and _type_and_properties(new[new_id]) == _type_and_properties(old[removed_id])
            )
            if successor_id := next(equal_ids, None):
                successor_ids[removed_id] = successor_id
    for new_id in (logical_id for logical_id in new_ids if new[logical_id]["Type"] == ROLE):
        ranked = sorted(
            (_similarity(old, removed_id, new, new_id), removed_id)
            for removed_id in removed_ids
            if old[removed_id]["Type"] == ROLE and removed_id not in successor_ids
        )
        if ranked and ranked[-1][0] > (0, 0):
            successor_ids[ranked[-1][1]] = new_id
    return {
        construct_path(removed_id, old): construct_path(new_id, new)
        for removed_id, new_id in successor_ids.items()
    }


def _type_and_properties(resource: dict[str, Any]) -> tuple[str, Any]:
    return resource["Type"], resource.get("Properties")


def _similarity(
    old: dict[str, Any], old_role: str, new: dict[str, Any], new_role: str
) -> tuple[int, int]:
    """Return how likely `new_role` replaces `old_role`; larger is more likely.

    The first number is how many resources use both roles. The second is 1 if both roles have the
    same trust policy and are used by the same types of resources.
    """
    old_users, new_users = _users(old, old_role), _users(new, new_role)
    old_trust, new_trust = (
        role["Properties"].get("AssumeRolePolicyDocument")
        for role in (old[old_role], new[new_role])
    )
    is_equal = old_trust == new_trust and {*old_users.values()} == {*new_users.values()}
    return len(old_users.keys() & new_users.keys()), int(is_equal)


def _users(resources: dict[str, Any], role: str) -> dict[str, str]:
    """Return logical ID -> type of the resources that use a role."""
    return {
        logical_id: resource["Type"]
        for logical_id, resource in resources.items()
        if role in references(resource.get("Properties", {}))
        and not resource["Type"].startswith("AWS::IAM")
    }
