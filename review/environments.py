"""The move of a stage to another region or account, and templates with placeholders for both.

In another region or account, CloudFormation creates new stacks and does not change the old stacks.
Placeholders for region, account and partition make all other properties comparable.
"""

import json
import re
from typing import Any

import platform_facts
from plan.document import Plan

StackValues = dict[str, dict[str, Any]]
"""Stack name -> its template, or its settings in the manifest of the assembly."""

_NO_ACCOUNT = "unknown-account"
"""The account in a manifest if the stage's file has none (aws-cdk-lib, Stack.environment)."""

_PSEUDO_PARAMETER = re.compile(r'\{"Ref": "(AWS::(?:AccountId|Partition|Region|URLSuffix))"\}')

_PSEUDO = re.compile(r"AWS::(?:AccountId|Partition|Region|URLSuffix)")
_SUBSTITUTION = re.compile(r"\$\{([^}]*)\}")


def is_moved(before: Plan, after: Plan) -> bool:
    """Return whether a stage certainly moves to another region or account.

    A stage file without an account means the account of the credentials, which may be the same.
    """
    accounts = {before.account, after.account} - {None}
    return before.region != after.region or len(accounts) > 1


def may_be_moved(before: Plan, after: Plan) -> bool:
    """Return whether a stage moves, or may move, depending on the account of the credentials."""
    return (before.region, before.account) != (after.region, after.account)


def normalize(
    before: StackValues, after: StackValues, plans: tuple[Plan, Plan]
) -> tuple[StackValues, StackValues]:
    """Return `before` and `after`, with placeholders for the environment if the stage may move."""
    if not may_be_moved(*plans):
        return before, after
    return _normalize(before, plans[0]), _normalize(after, plans[1])


def _normalize(stacks: StackValues, plan: Plan) -> StackValues:
    """Return values with placeholders for region, account, partition and AWS's image registry."""
    text = json.dumps(stacks)
    for registry in _triton_registries(plan.region):
        text = re.sub(
            rf"\b{registry}(?=\.dkr\.ecr\.|:repository/sagemaker-triton)", "REGISTRY", text
        )
    text = re.sub(rf"\b{re.escape(plan.region)}(?![0-9])", "${AWS::Region}", text)
    text = re.sub(rf"\b{plan.account or _NO_ACCOUNT}\b", "${AWS::AccountId}", text)
    text = re.sub(r"\barn:aws(?:-[a-z]+)*:", "arn:${AWS::Partition}:", text)
    text = re.sub(r"\bamazonaws\.com\.cn\b", "amazonaws.com", text)
    text = _PSEUDO_PARAMETER.sub(r'"${\1}"', text)
    return dict(json.loads(text, object_hook=_joined))


def _triton_registries(region: str) -> set[str]:
    """Return the accounts with SageMaker's Triton images in a region, empty if it is unknown."""
    try:
        facts = platform_facts.region(region)
    except platform_facts.UnknownFact:
        return set()
    accounts = (facts.account_since_23_12, facts.account_before_23_12)
    return {account for account in accounts if account}


def _joined(value: dict[str, Any]) -> Any:
    """Return a value with joined texts, pseudo parameters as text, and sorted resources."""
    match value:
        case {"Fn::Sub": str(text)} if all(map(_PSEUDO.fullmatch, _SUBSTITUTION.findall(text))):
            return text
        case {"Fn::Join": ["", list(parts)]}:
            joined: list[Any] = []
            for part in parts:
                if joined and isinstance(part, str) and isinstance(joined[-1], str):
                    joined[-1] += part
                else:
                    joined.append(part)
            return joined[0] if len(joined) == 1 else {"Fn::Join": ["", joined]}
        case {"Effect": str(), "Resource": list(resources)}:  # the CDK sorted them before
            return {**value, "Resource": sorted(resources, key=json.dumps)}
    return value
