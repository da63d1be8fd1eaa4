"""New resources that replace removed ones, under any name."""

from typing import Any

from release.review.values import construct_path
from release.template_resources import references
from release.tree import Template

ROLE = "AWS::IAM::Role"


def successors(before: Template, after: Template) -> dict[str, str]:
    """Return removed resource -> the new resource that replaces it, by paths.

    A replacement has the same properties. A role's replacement is used by the same resources, or
    else has the same trust policy and is used by the same types of resources.
    """
    old, new = before.get("Resources", {}), after.get("Resources", {})
    others = [item for item in new if item not in old and new[item]["Type"] != ROLE]
    places = {}
    for name in (item for item in old if item not in new and old[item]["Type"] != ROLE):
        alike = [other for other in others if _content(new[other]) == _content(old[name])]
        if alike:
            places[name] = alike[0]
            others.remove(alike[0])
    removed = [item for item in old if item not in new and old[item]["Type"] == ROLE]
    for name in (value for value in new if value not in old and new[value]["Type"] == ROLE):
        ranked = sorted(
            (_likeness(old, role, new, name), role) for role in removed if role not in places
        )
        if ranked and ranked[-1][0] > (0, 0):
            places[ranked[-1][1]] = name
    return {construct_path(name, old): construct_path(other, new) for name, other in places.items()}


def _content(resource: dict[str, Any]) -> tuple[str, Any]:
    return resource["Type"], resource.get("Properties")


def _likeness(old: dict[str, Any], role: str, new: dict[str, Any], name: str) -> tuple[int, int]:
    """Return the number of shared users of two roles, and whether trust and types are equal."""
    was, now = _users(old, role), _users(new, name)
    trusts = (side["Properties"].get("AssumeRolePolicyDocument") for side in (old[role], new[name]))
    is_alike = next(trusts) == next(trusts) and {*was.values()} == {*now.values()}
    return len(was.keys() & now.keys()), int(is_alike)


def _users(resources: dict[str, Any], role: str) -> dict[str, str]:
    """Return logical id -> type of the resources that use a role."""
    return {
        name: resource["Type"]
        for name, resource in resources.items()
        if role in references(resource.get("Properties", {}))
        and not resource["Type"].startswith("AWS::IAM")
    }
