"""Constraints of IAM, KMS, S3 and SNS on policies."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from tests.synth.api.calls import Calls

MAX_INLINE_CHARACTERS = 10_240
"""Characters of all inline policies of a role, without white space (IAM user guide, IAM quotas;
from memory)."""
MAX_TRUST_CHARACTERS = 2_048
"""Default maximum characters of a trust policy (IAM user guide, IAM quotas; from memory)."""
MAX_MANAGED_POLICIES = 10
"""Default maximum number of managed policies of a role (the same page)."""
MAX_KEY_POLICY_BYTES = 32 * 1024
"""Bytes of a key's policy (KMS API reference, PutKeyPolicy)."""
MAX_BUCKET_POLICY_BYTES = 20 * 1024
"""Bytes of a bucket's policy (S3 user guide, bucket-policies)."""

SID = re.compile(r"[A-Za-z0-9]*")
"""IAM user guide, JSON policy elements: Sid; unique in a policy."""
ACTION = re.compile(r"\*|[a-z0-9-]+:[A-Za-z*?]+")
"""IAM user guide, JSON policy elements: Action."""


def sizes(calls: Calls) -> Iterator[str]:
    """Yield policies above the size limits."""
    inline: Counter[str] = Counter()
    for call in calls.by_operation("PutRolePolicy"):
        inline[call.parameters["RoleName"]] += len(call.parameters["PolicyDocument"])
    managed = Counter(
        call.parameters["RoleName"] for call in calls.by_operation("AttachRolePolicy")
    )
    for role, size in inline.items():
        if size > MAX_INLINE_CHARACTERS:
            yield f"{role}: inline policies of {size} characters"
    for role, count in managed.items():
        if count > MAX_MANAGED_POLICIES:
            yield f"{role}: {count} managed policies"
    for operation, parameter, maximum in (
        ("CreateRole", "AssumeRolePolicyDocument", MAX_TRUST_CHARACTERS),
        ("CreateKey", "Policy", MAX_KEY_POLICY_BYTES),
        ("PutBucketPolicy", "Policy", MAX_BUCKET_POLICY_BYTES),
    ):
        for call in calls.by_operation(operation):
            size = len(call.parameters[parameter].encode())
            if size > maximum:
                yield f"{call.resource_id}: a policy of {size} bytes"


def grammar(calls: Calls) -> Iterator[str]:
    """Yield invalid Sids and actions."""
    for call in calls.all:
        for policy in _policies(call.parameters):
            statements = policy["Statement"]
            sids = [statement["Sid"] for statement in statements if "Sid" in statement]
            if len(set(sids)) < len(sids) or not all(map(SID.fullmatch, sids)):
                yield f"{call.resource_id}: a Sid is not alphanumeric or not unique"
            for statement in statements:
                actions = (
                    [statement["Action"]]
                    if isinstance(statement["Action"], str)
                    else statement["Action"]
                )
                for action in actions:
                    if not ACTION.fullmatch(action):
                        yield f"{call.resource_id}: {action} is not an action"


def partitions(calls: Calls) -> Iterator[str]:
    """Yield ARNs and host names of another partition than that of the stage.

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
            yield f"{call.resource_id}: {result[0]} in {calls.partition}"


def _policies(parameters: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the policies in the parameters of a request."""
    for name, parameter in parameters.items():
        is_policy = name in ("AssumeRolePolicyDocument", "PolicyDocument", "Policy")
        if is_policy or (parameters.get("AttributeName") == "Policy" and name == "AttributeValue"):
            yield json.loads(parameter)


RULES = (sizes, grammar, partitions)
