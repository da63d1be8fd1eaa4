"""The environment of a stage, and templates without its names.

A stage in another region or account is another environment: CloudFormation creates everything there
and does not touch the old resources. To compare the rest of such a change, region, account and
partition are replaced by placeholders on both sides.
"""

import json
import re
from itertools import groupby
from typing import Any

import platform_facts
from release.stage_file import StageFile

ByStack = dict[str, dict[str, Any]]
"""The template of each stack, or its settings in the manifest of the assembly."""

_NO_ACCOUNT = "unknown-account"
"""The account in a manifest if the stage names none (aws-cdk-lib, Stack.environment)."""

_PSEUDO = re.compile(r"AWS::(?:AccountId|Partition|Region|URLSuffix)")
_SUBSTITUTED = re.compile(r"\$\{([^}]*)\}")


def moves(before: StageFile, after: StageFile) -> bool:
    """Return whether a stage certainly moves to another region or account.

    A stage without an account is in that of the caller, which may be the same as before.
    """
    accounts = {before.account, after.account} - {None}
    return before.region != after.region or len(accounts) > 1


def may_move(before: StageFile, after: StageFile) -> bool:
    """Return whether a stage may move, depending on the account of the caller."""
    return (before.region, before.account) != (after.region, after.account)


def comparable(
    before: ByStack, was: StageFile, after: ByStack, will_be: StageFile
) -> tuple[ByStack, ByStack]:
    """Return templates, or settings of stacks, without region and account if the stage may move."""
    if not may_move(was, will_be):
        return before, after
    return _without_places(before, was), _without_places(after, will_be)


def _without_places(stacks: ByStack, place: StageFile) -> ByStack:
    """Return values with placeholders for region, account, partition and AWS's registry."""
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
    """Return the accounts with the SageMaker Triton images of a region; empty if it is unknown."""
    try:
        known = platform_facts.region(region)
    except platform_facts.UnknownFact:
        return set()
    return {account for account in (known.account_since_23_12, known.account_before_23_12)
            if account}  # fmt: skip


def _plain(value: dict[str, Any]) -> Any:
    """Return an intrinsic function of pseudo parameters as a text, any other object unchanged."""
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
