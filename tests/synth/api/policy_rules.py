"""What IAM and the services with policies of resources demand of policies."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.synth.api.calls import Calls

MOST_INLINE = 10_240
"""Characters of all inline policies of a role, without white space (IAM user guide, IAM quotas;
from memory)."""
MOST_TRUST = 2_048
"""Characters of a trust policy, by default (the same)."""
MOST_MANAGED = 10
"""Managed policies of a role, by default (the same)."""
MOST_OF_A_KEY = 32 * 1024
"""Bytes of a key's policy (KMS API reference, PutKeyPolicy)."""
MOST_OF_A_BUCKET = 20 * 1024
"""Bytes of a bucket's policy (S3 user guide, bucket-policies)."""

SID = re.compile(r"[A-Za-z0-9]*")
"""IAM user guide, JSON policy elements: Sid; each is given once in a policy."""
ACTION = re.compile(r"\*|[a-z0-9-]+:[A-Za-z*?]+")
"""IAM user guide, JSON policy elements: Action."""


def sizes(calls: Calls) -> Iterator[str]:
    """Policies are not too large."""
    inline: Counter[str] = Counter()
    for call in calls.of("PutRolePolicy"):
        inline[call.parameters["RoleName"]] += len(call.parameters["PolicyDocument"])
    managed = Counter(each.parameters["RoleName"] for each in calls.of("AttachRolePolicy"))
    for role, size in inline.items():
        if size > MOST_INLINE:
            yield f"{role}: inline policies of {size} characters"
    for role, count in managed.items():
        if count > MOST_MANAGED:
            yield f"{role}: {count} managed policies"
    for operation, parameter, most in (
        ("CreateRole", "AssumeRolePolicyDocument", MOST_TRUST),
        ("CreateKey", "Policy", MOST_OF_A_KEY),
        ("PutBucketPolicy", "Policy", MOST_OF_A_BUCKET),
    ):
        for call in calls.of(operation):
            size = len(call.parameters[parameter].encode())
            if size > most:
                yield f"{call.made_for}: a policy of {size} bytes"


def grammar(calls: Calls) -> Iterator[str]:
    """Statements are of the form that policies have."""
    for call in calls.all:
        for policy in _policies(call.parameters):
            statements = policy["Statement"]
            named = [statement["Sid"] for statement in statements if "Sid" in statement]
            if len(set(named)) < len(named) or not all(map(SID.fullmatch, named)):
                yield f"{call.made_for}: not each Sid is of letters and digits, and given once"
            for statement in statements:
                actions = (
                    [statement["Action"]]
                    if isinstance(statement["Action"], str)
                    else statement["Action"]
                )
                for action in actions:
                    if not ACTION.fullmatch(action):
                        yield f"{call.made_for}: {action} is no action"


def key_policies(calls: Calls) -> Iterator[str]:
    """A key can still be managed.

    "The key policy must allow the calling principal to make a subsequent PutKeyPolicy request on
    the KMS key" (KMS API reference, CreateKey: the lockout safety check).
    """
    for call in calls.of("CreateKey"):
        for each in json.loads(call.parameters["Policy"])["Statement"]:
            if each["Action"] == "kms:*" and str(each["Principal"].get("AWS", "")).endswith(
                ":root"
            ):
                break
        else:
            yield f"{call.made_for}: nobody may manage the key"


def partitions(calls: Calls) -> Iterator[str]:
    """Every ARN, and every host of a region, is of the stage's own partition.

    ARNs begin with `arn:aws:`, in China with `arn:aws-cn:`, where hosts of services end in
    `amazonaws.com.cn`; service principals end in `amazonaws.com` everywhere (Amazon Web Services in
    China, getting started, endpoints and ARNs; aws-cdk, region-info).
    """
    foreign = {
        "aws": re.compile(r"arn:aws-cn:|amazonaws\.com\.cn"),
        "aws-cn": re.compile(r"arn:aws:|\.cn-[a-z]+-1\.amazonaws\.com(?!\.cn)"),
    }[calls.partition]
    for call in calls.all:
        if result := foreign.search(json.dumps(call.parameters)):
            yield f"{call.made_for}: {result[0]} in {calls.partition}"


def _policies(parameters: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the policies among the parameters of a request."""
    for name, each in parameters.items():
        is_policy = name in ("AssumeRolePolicyDocument", "PolicyDocument", "Policy")
        if is_policy or (parameters.get("AttributeName") == "Policy" and name == "AttributeValue"):
            yield json.loads(each)


RULES = (sizes, grammar, key_policies, partitions)
