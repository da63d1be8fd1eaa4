"""The move of a stage to another region or account, and templates with placeholders for both.

In another region or account, CloudFormation creates new stacks and does not change the old stacks.
Placeholders for region, account and partition, before and after, make all other properties
comparable.
"""

import json
import re
from itertools import groupby
from typing import Any

import platform_facts
from release.checkout import StageFile

StackValues = dict[str, dict[str, Any]]
"""Stack name -> its template, or its settings in the manifest of the assembly."""

_NO_ACCOUNT = "unknown-account"
"""The account in a manifest if the stage's file has none (aws-cdk-lib, Stack.environment)."""

_PSEUDO_PARAMETER = re.compile(r"AWS::(?:AccountId|Partition|Region|URLSuffix)")
_SUBSTITUTION = re.compile(r"\$\{([^}]*)\}")


def is_moved(before: StageFile, after: StageFile) -> bool:
    """Return whether a stage certainly moves to another region or account.

    A stage file without an account means the account of the credentials, which may be the same.
    """
    accounts = {before.account, after.account} - {None}
    return before.region != after.region or len(accounts) > 1


def may_be_moved(before: StageFile, after: StageFile) -> bool:
    """Return whether a stage moves, or may move, depending on the account of the credentials."""
    return (before.region, before.account) != (after.region, after.account)


def normalize_environment(
    before: StackValues, file_before: StageFile, after: StackValues, file_after: StageFile
) -> tuple[StackValues, StackValues]:
    """Return `before` and `after`, with placeholders for the environment if the stage may move."""
    if not may_be_moved(file_before, file_after):
        return before, after
    return _normalize(before, file_before), _normalize(after, file_after)


def _normalize(stacks: StackValues, file: StageFile) -> StackValues:
    """Return values with placeholders for region, account, partition and AWS's image registry."""
    text = json.dumps(stacks)
    for account in triton_registries(file.region):
        text = re.sub(
            rf"\b{account}(?=\.dkr\.ecr\.|:repository/sagemaker-triton)", "REGISTRY", text
        )
    text = re.sub(rf"\b{re.escape(file.region)}(?![0-9])", "${AWS::Region}", text)
    text = re.sub(rf"\b{file.account or _NO_ACCOUNT}\b", "${AWS::AccountId}", text)
    text = re.sub(r"\barn:aws(?:-[a-z]+)*:", "arn:${AWS::Partition}:", text)
    text = re.sub(r"\bamazonaws\.com\.cn\b", "amazonaws.com", text)
    return dict(json.loads(text, object_hook=_to_text))


def triton_registries(region: str) -> set[str]:
    """Return the accounts with SageMaker's Triton images in a region, empty if it is unknown."""
    try:
        facts = platform_facts.region(region)
    except platform_facts.UnknownFact:
        return set()
    return {account for account in (facts.account_since_23_12, facts.account_before_23_12)
            if account}  # fmt: skip


def _to_text(value: dict[str, Any]) -> Any:
    """Return an intrinsic function of pseudo parameters as text, other objects unchanged."""
    match value:
        case {"Ref": str(name)} if _PSEUDO_PARAMETER.fullmatch(name):
            return f"${{{name}}}"
        case {"Fn::Sub": str(text)} if all(
            map(_PSEUDO_PARAMETER.fullmatch, _SUBSTITUTION.findall(text))
        ):
            return text
        case {"Fn::Join": ["", list(parts)]}:
            groups = groupby(parts, key=lambda part: isinstance(part, str))
            joined: list[Any] = []
            for is_text, group in groups:
                joined += ["".join(group)] if is_text else group
            if len(joined) == 1 and isinstance(joined[0], str):
                return joined[0]
            return {"Fn::Join": ["", joined]}
    return value
