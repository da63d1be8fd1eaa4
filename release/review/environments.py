"""Whether a stage moves to another region or account, and templates without region and account.

In another region or account, CloudFormation creates all stacks anew and does not change the old
ones. To compare all other properties, region, account and partition are replaced by placeholders
before and after.
"""

import json
import re
from itertools import groupby
from typing import Any

import platform_facts
from release.stage_file import StageFile

StackValues = dict[str, dict[str, Any]]
"""Stack name -> its template, or its settings in the manifest of the assembly."""

_NO_ACCOUNT = "unknown-account"
"""The account in a manifest if the stage's file has none (aws-cdk-lib, Stack.environment)."""

_PSEUDO = re.compile(r"AWS::(?:AccountId|Partition|Region|URLSuffix)")
_SUBSTITUTED = re.compile(r"\$\{([^}]*)\}")


def moves(before: StageFile, after: StageFile) -> bool:
    """Return whether a stage certainly moves to another region or account.

    A stage file without an account means the account of the credentials, which may be the old one.
    """
    accounts = {before.account, after.account} - {None}
    return before.region != after.region or len(accounts) > 1


def may_move(before: StageFile, after: StageFile) -> bool:
    """Return whether a stage moves, or may move, depending on the account of the credentials."""
    return (before.region, before.account) != (after.region, after.account)


def normalize_environment(
    before: StackValues, was: StageFile, after: StackValues, will_be: StageFile
) -> tuple[StackValues, StackValues]:
    """Return both arguments with placeholders for region and account if the stage may move."""
    if not may_move(was, will_be):
        return before, after
    return _normalized(before, was), _normalized(after, will_be)


def _normalized(stacks: StackValues, place: StageFile) -> StackValues:
    """Return values with placeholders for region, account, partition and AWS's image registry."""
    text = json.dumps(stacks)
    for account in triton_registries(place.region):
        text = re.sub(
            rf"\b{account}(?=\.dkr\.ecr\.|:repository/sagemaker-triton)", "REGISTRY", text
        )
    text = re.sub(rf"\b{re.escape(place.region)}(?![0-9])", "${AWS::Region}", text)
    text = re.sub(rf"\b{place.account or _NO_ACCOUNT}\b", "${AWS::AccountId}", text)
    text = re.sub(r"\barn:aws(?:-[a-z]+)*:", "arn:${AWS::Partition}:", text)
    text = re.sub(r"\bamazonaws\.com\.cn\b", "amazonaws.com", text)
    return dict(json.loads(text, object_hook=_plain))


def triton_registries(region: str) -> set[str]:
    """Return the accounts with SageMaker's Triton images in a region, empty if it is unknown."""
    try:
        known = platform_facts.region(region)
    except platform_facts.UnknownFact:
        return set()
    return {account for account in (known.account_since_23_12, known.account_before_23_12)
            if account}  # fmt: skip


def _plain(value: dict[str, Any]) -> Any:
    """Return an intrinsic function of pseudo parameters as text, other objects unchanged."""
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
