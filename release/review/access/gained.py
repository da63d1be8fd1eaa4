"""The permissions that a change adds or removes."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from release.review.access.grants import Grant, PolicyScope
from release.review.access.statements import grants, paths
from release.review.access.successors import successors
from release.review.values import construct_path, text_of
from release.tree import Template

CAPTURE = ("s3:PutObject", "kms:Decrypt", "kms:GenerateDataKey")
"""Actions with which a role writes its endpoint's captured data."""

MOST = 3
"""Maximum number of narrower grants that are shown for a removed one."""


@dataclass(frozen=True)
class AccessChange:
    """The changed permissions of a stack.

    New grants are `by_existing` if their role or resource existed before, else `by_new`. `lost` are
    removed grants, `lost_services` those after which an AWS service cannot do the action at all,
    `lost_denials` and `new_denials` removed and new Deny statements; these four are of resources
    that stay.
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
    """Yield the changed permissions of every stack that differs.

    A new role is compared with the removed role that it replaces, under any name.
    """
    for stack, template in sorted(after.items()):
        earlier = before.get(stack, {})
        if earlier == template:
            continue
        stays = frozenset(earlier.get("Resources", {}).keys() & template["Resources"].keys())
        names = successors(earlier, template)
        there = {names.get(name, name) for name in paths(earlier)}
        old, forbidden = (
            {_renamed(item, names) for item in grants(earlier, effect, stays)}
            for effect in ("Allow", "Deny")
        )  # fmt: skip
        new, forbids = grants(template, "Allow", stays), grants(template, "Deny", stays)
        gained = _beyond(new, old)
        who = {value.who for value in old} | there
        # A resource policy is known by its resource: a new role's trust policy is new, too.
        known = {
            grant
            for grant in gained
            if (grant.guarded in there if grant.guarded else grant.who in who)
            and not _is_for_capture(grant, template)
        }
        kept = there & paths(template)
        lost, lost_denials = _gone(old, new, kept), _gone(forbidden, forbids, kept)
        services = {grant for grant in lost if _is_service(grant) and not _is_left(grant, new)}
        new_denials = _without_conditions(_beyond(forbids, forbidden), lost_denials)
        yield AccessChange(
            stack,
            by_existing=known,
            by_new=gained - known,
            lost_denials=lost_denials,
            lost={
                replace(grant, remaining=_remaining(grant, new))
                for grant in _without_conditions(lost - services, gained)
            },
            lost_services=services,
            new_denials={grant for grant in new_denials if (grant.guarded or grant.who) in kept},
        )


def may_do_more(resources: dict[str, Any], role: str, other: str) -> bool:
    """Return whether the role `other` may do more than `role`; both are logical ids."""
    names = [construct_path(name, resources) for name in (role, other)]
    every = grants({"Resources": resources})
    own = [replace(grant, who=names[1]) for grant in every if grant.who == names[0]]
    others = (grant for grant in every if grant.who == names[1])
    return not all(any(known.covers(grant) for known in own) for grant in others)


def _renamed(grant: Grant, names: dict[str, str]) -> Grant:
    """Return a grant with renamed resources."""
    who, guarded = (names.get(item, item) for item in (grant.who, grant.guarded))
    resource = grant.resource
    for old, new in names.items():
        end = resource.pattern.removeprefix(old)
        if end != resource.pattern and end[:1] in ("", "/", ":"):
            resource = replace(resource, pattern=f"{new}{end}")
            break
    return replace(grant, who=who, guarded=guarded, resource=resource)


def _beyond(grants: set[Grant], others: set[Grant]) -> set[Grant]:
    """Return grants that `others` do not cover, with the earlier condition if only that differs."""
    return {
        replace(part, conditions=(earlier, part.condition)) if earlier is not None else part
        for grant in grants
        if not any(other.covers(grant) for other in others)
        for part in _parts(grant, others)
        for earlier in [_condition(part, others - grants)]
    }


def _gone(before: set[Grant], after: set[Grant], kept: set[str]) -> set[Grant]:
    """Return the removed grants of resources that stay."""
    return {
        replace(grant, conditions=grant.conditions and grant.conditions[::-1])
        for grant in _beyond(before, after)
        if (grant.guarded or grant.who) in kept
    }


def _remaining(grant: Grant, others: set[Grant]) -> tuple[str, ...]:
    """Return the narrower grants that are left of a removed one."""
    narrower = (other for other in others if grant.covers(other))
    return tuple(sorted({f"{other.action} on {other.resource}" for other in narrower})[:MOST])


def _parts(grant: Grant, others: set[Grant]) -> list[Grant]:
    """Return the exceptions that a grant drops from an earlier one as grants, else the grant."""
    for other in others:
        own, its = grant.resource.excepted, other.resource.excepted
        if own and its and replace(other, resource=grant.resource) == grant:
            more = sorted({*its} - {*own})
            return [replace(grant, resource=PolicyScope(pattern)) for pattern in more]
        own, its = grant.action.excepted, other.action.excepted
        if own and its and replace(other, action=grant.action) == grant:
            more = sorted({*its} - {*own})
            return [replace(grant, action=PolicyScope(pattern)) for pattern in more]
    return [grant]


def _condition(grant: Grant, others: set[Grant]) -> Any:
    """Return the condition of an otherwise equal grant, None if there is none."""
    same = (item.condition for item in others if replace(item, condition=grant.condition) == grant)
    return next(same, None)


def _without_conditions(grants: set[Grant], others: set[Grant]) -> set[Grant]:
    """Return grants without those that `others` already describe as a changed condition."""
    known = {replace(grant, condition=frozenset()) for grant in others if grant.conditions}
    return {grant for grant in grants if replace(grant, condition=frozenset()) not in known}


def _is_service(grant: Grant) -> bool:
    return bool(grant.guarded) and grant.who.endswith((".amazonaws.com", ".amazonaws.com.cn"))


def _is_left(grant: Grant, others: set[Grant]) -> bool:
    """Return whether a service may still do the action on other resources or with a condition."""
    return any(
        (other.who, other.guarded) == (grant.who, grant.guarded)
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
            f"{text_of(config.get('DestinationS3Uri'), resources).removeprefix('s3://')}/*",
            text_of(config.get("KmsKeyId"), resources),
        )
    ]
    return grant.action.pattern in CAPTURE and str(grant.resource) in places
