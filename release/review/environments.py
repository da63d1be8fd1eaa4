"""Where a stage is, and templates without it.

A stage in another region or account is another environment: CloudFormation creates everything there
and touches nothing of what was. To see what else a change does, both sides are compared without the
names of their places.
"""

import re
from typing import Any

import platform_facts
from release.stage_file import StageFile
from release.tree import Template

Settings = dict[str, dict[str, Any]]

_PSEUDO = re.compile(r"AWS::(?:AccountId|Partition|Region|URLSuffix)")
_SUBSTITUTED = re.compile(r"\$\{([^}]*)\}")


def moves(before: StageFile, after: StageFile) -> bool:
    """Whether a stage is to be somewhere else.

    A stage that names no account is in that of whoever deploys, which may be the same.
    """
    accounts = {before.account, after.account} - {None}
    return before.region != after.region or len(accounts) > 1


def may_move(before: StageFile, after: StageFile) -> bool:
    """Whether a stage may be somewhere else, depending on who has deployed it."""
    return (before.region, before.account) != (after.region, after.account)


def without_places(templates: dict[str, Template], place: StageFile) -> dict[str, Template]:
    """Return templates in which region, account, partition and AWS's own registry have no names."""
    named = [
        (re.compile(rf"\b{account}(?=\.dkr\.ecr\.|:repository/sagemaker-tritonserver)"), "REGISTRY")
        for account in registries(place.region)
    ]
    named.append((re.compile(rf"\b{re.escape(place.region)}(?![0-9])"), "${AWS::Region}"))
    if place.account:
        named.append((re.compile(rf"\b{place.account}\b"), "${AWS::AccountId}"))
    named.append((re.compile(r"\barn:aws(?:-[a-z]+)*:"), "arn:${AWS::Partition}:"))
    named.append((re.compile(r"\bamazonaws\.com\.cn\b"), "amazonaws.com"))
    return {name: _plain(template, named) for name, template in templates.items()}


def comparable(
    before: Settings, was: StageFile, after: Settings, will_be: StageFile
) -> tuple[Settings, Settings]:
    """Return settings of stacks before and after, without their places where those differ."""
    if not before or not may_move(was, will_be):
        return before, after
    sides = without_places(before, was), without_places(after, will_be)
    for settings in (it for side in sides for it in side.values()):
        settings.pop("environment", None)
    return sides


def registries(region: str) -> set[str]:
    """Return the accounts that hold the SageMaker Triton images of a region, if it is known."""
    try:
        found = platform_facts.region(region)
    except platform_facts.UnknownFact:
        return set()
    return {it for it in (found.account_since_23_12, found.account_before_23_12) if it}


def _plain(value: Any, named: list[tuple[re.Pattern[str], str]]) -> Any:
    """Return a value with places as text, whichever way CloudFormation is told them."""
    match value:
        case str():
            for pattern, placeholder in named:
                value = pattern.sub(placeholder, value)
            return value
        case {"Ref": str(name)} if _PSEUDO.fullmatch(name):
            return f"${{{name}}}"
        case {"Fn::Sub": str(text)} if all(map(_PSEUDO.fullmatch, _SUBSTITUTED.findall(text))):
            return _plain(text, named)
        case {"Fn::Join": ["", list(parts)]}:
            return _joined([_plain(it, named) for it in parts])
        case dict():
            return {_plain(key, named): _plain(it, named) for key, it in value.items()}
        case list():
            return [_plain(it, named) for it in value]
    return value


def _joined(parts: list[Any]) -> Any:
    """Return parts that follow each other, with neighbours that are text as one."""
    together: list[Any] = []
    for part in parts:
        if together and isinstance(part, str) and isinstance(together[-1], str):
            together[-1] += part
        else:
            together.append(part)
    if len(together) == 1 and isinstance(together[0], str):
        return together[0]
    return {"Fn::Join": ["", together]}
