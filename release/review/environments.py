"""Where a stage is, and templates without it.

A stage in another region or account is another environment: CloudFormation creates everything there
and touches nothing of what was. To see what else a change does, both sides are compared without the
names of their places.
"""

import json
import re
from itertools import groupby
from typing import Any

import platform_facts
from release.stage_file import StageFile

ByStack = dict[str, dict[str, Any]]
"""The template of each stack, or what the manifest of the assembly says of each."""

_NO_ACCOUNT = "unknown-account"
"""In a manifest, where a stage names no account (aws-cdk-lib, Stack.environment)."""

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


def comparable(
    before: ByStack, was: StageFile, after: ByStack, will_be: StageFile
) -> tuple[ByStack, ByStack]:
    """Return templates, or settings of stacks, without their places where those may differ."""
    if not may_move(was, will_be):
        return before, after
    return _without_places(before, was), _without_places(after, will_be)


def _without_places(stacks: ByStack, place: StageFile) -> ByStack:
    """Return values in which region, account, partition and AWS's own registry have no names."""
    text = json.dumps(stacks)
    for account in registries(place.region):
        text = re.sub(
            rf"\b{account}(?=\.dkr\.ecr\.|:repository/sagemaker-triton)", "REGISTRY", text
        )
    text = re.sub(rf"\b{re.escape(place.region)}(?![0-9])", "${AWS::Region}", text)
    text = re.sub(rf"\b{place.account or _NO_ACCOUNT}\b", "${AWS::AccountId}", text)
    text = re.sub(r"\barn:aws(?:-[a-z]+)*:", "arn:${AWS::Partition}:", text)
    text = re.sub(r"\bamazonaws\.com\.cn\b", "amazonaws.com", text)
    return dict(json.loads(text, object_hook=_plain))


def registries(region: str) -> set[str]:
    """Return the accounts that hold the SageMaker Triton images of a region, if it is known."""
    try:
        known = platform_facts.region(region)
    except platform_facts.UnknownFact:
        return set()
    return {account for account in (known.account_since_23_12, known.account_before_23_12)
            if account}  # fmt: skip


def _plain(value: dict[str, Any]) -> Any:
    """Return an object, or the text with places in it that it is a function for."""
    match value:
        case {"Ref": str(name)} if _PSEUDO.fullmatch(name):
            return f"${{{name}}}"
        case {"Fn::Sub": str(text)} if all(map(_PSEUDO.fullmatch, _SUBSTITUTED.findall(text))):
            return text
        case {"Fn::Join": ["", list(parts)]}:
            texts = groupby(parts, key=lambda part: isinstance(part, str))
            joined = [
                part for is_text, run in texts for part in (["".join(run)] if is_text else run)
            ]
            is_one = len(joined) == 1 and isinstance(joined[0], str)
            return joined[0] if is_one else {"Fn::Join": ["", joined]}
    return value
