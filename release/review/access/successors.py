"""New resources that replace removed ones, even if the name changes."""

from typing import Any

from release.review.values import construct_path
from release.template_resources import references
from release.tree import Template

ROLE = "AWS::IAM::Role"


def successors(before: Template, after: Template) -> dict[str, str]:
    """Return path of a removed resource -> path of the new resource that replaces it.

    The new resource has the same properties. A new role is used by the same resources, or it has
    the same trust policy and is used by the same types of resources.
    """
    old, new = before.get("Resources", {}), after.get("Resources", {})
    others = [item for item in new if item not in old and new[item]["Type"] != ROLE]
    successor = {}
    for name in (item for item in old if item not in new and old[item]["Type"] != ROLE):
        equal = [other for other in others if _content(new[other]) == _content(old[name])]
        if equal:
            successor[name] = equal[0]
            others.remove(equal[0])
    removed = [item for item in old if item not in new and old[item]["Type"] == ROLE]
    for name in (value for value in new if value not in old and new[value]["Type"] == ROLE):
        ranked = sorted(
            (_similarity(old, role, new, name), role) for role in removed if role not in successor
        )
        if ranked and ranked[-1][0] > (0, 0):
            successor[ranked[-1][1]] = name
    return {
        construct_path(name, old): construct_path(other, new) for name, other in successor.items()
    }


def _content(resource: dict[str, Any]) -> tuple[str, Any]:
    return resource["Type"], resource.get("Properties")


def _similarity(old: dict[str, Any], role: str, new: dict[str, Any], name: str) -> tuple[int, int]:
    """Return the number of shared users of two roles, and 1 if trust and user types are equal."""
    old_users, new_users = _users(old, role), _users(new, name)
    trusts = [side["Properties"].get("AssumeRolePolicyDocument") for side in (old[role], new[name])]
    is_equal = trusts[0] == trusts[1] and {*old_users.values()} == {*new_users.values()}
    return len(old_users.keys() & new_users.keys()), int(is_equal)


def _users(resources: dict[str, Any], role: str) -> dict[str, str]:
    """Return logical ID -> type of the resources that use a role."""
    return {
        name: resource["Type"]
        for name, resource in resources.items()
        if role in references(resource.get("Properties", {}))
        and not resource["Type"].startswith("AWS::IAM")
    }
