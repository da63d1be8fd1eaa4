"""Log groups and policies of a stack that somebody deleted or changed.

CloudFormation compares templates, so a deploy does not notice them. `cdk drift` asks CloudFormation
to read the resources, which takes minutes and a permission for each, and leaves out inline
policies; the local SageMaker's CloudFormation checks hardly any type. What is compared here: that
log groups exist, inline policies of roles, and the policies of buckets and KMS keys. Other changes
by hand, such as a bucket's life cycle or an alarm's threshold, are not.
"""

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import boto3
from botocore.exceptions import ClientError

from delivery.preflight.clients import client
from delivery.preflight.failure_reasons import DENIED, failure_reason
from release.templates import Template, resources

MISSING = ("NoSuchEntity", "NoSuchBucketPolicy", "NoSuchBucket", "NotFoundException")
"""Error codes of IAM, S3 and KMS for a missing resource or policy."""
ROOT_OF_ACCOUNT = re.compile(r"arn:[\w-]+:iam::(\d{12}):root")
"""Principals of this form and account ids are the same (IAM user guide, principals)."""


@dataclass(frozen=True)
class ManualChange:
    """A deleted or changed resource, and the command or the section that restores it."""

    subject: str
    text: str
    fix: str = "docs/runbook.md, Permissions are missing"


def manual_changes(
    session: boto3.Session, stack: str, template: Template
) -> Iterator[ManualChange]:
    """Yield the changes of a stack with this template; a missing permission is one, too."""
    try:
        yield from _manual_changes(session, stack, template)
    except ClientError as error:
        if error.response["Error"]["Code"] not in DENIED:
            raise
        text = f"log groups and policies are not compared: {failure_reason(error)}"
        yield ManualChange(stack, text, "docs/permissions.md")


def _manual_changes(
    session: boto3.Session, stack: str, template: Template
) -> Iterator[ManualChange]:
    pages = client(session, "cloudformation").get_paginator("list_stack_resources")
    ids = {
        summary["LogicalResourceId"]: summary.get("PhysicalResourceId", "")
        for page in pages.paginate(StackName=stack)
        for summary in page["StackResourceSummaries"]
    }
    logs, iam = client(session, "logs"), client(session, "iam")
    s3, kms = client(session, "s3"), client(session, "kms")
    for name, _ in resources(template, "AWS::Logs::LogGroup"):
        groups = logs.describe_log_groups(logGroupNamePrefix=ids[name])["logGroups"]
        if ids[name] not in {group["logGroupName"] for group in groups}:
            command = f"aws logs create-log-group --log-group-name {ids[name]}"
            yield ManualChange(ids[name], "the log group was deleted", command)
    for _, policy in resources(template, "AWS::IAM::Policy"):
        document, policy_name = policy["PolicyDocument"], policy["PolicyName"]
        for role in (ids[reference["Ref"]] for reference in policy["Roles"]):
            read = partial(iam.get_role_policy, RoleName=role, PolicyName=policy_name)
            yield from _compare(f"inline policy {policy_name} of {role}", document, read)
    for _, policy in resources(template, "AWS::S3::BucketPolicy"):
        bucket = ids[policy["Bucket"]["Ref"]]
        read = partial(s3.get_bucket_policy, Bucket=bucket)
        yield from _compare(f"policy of bucket {bucket}", policy["PolicyDocument"], read)
    for name, key in resources(template, "AWS::KMS::Key"):
        read = partial(kms.get_key_policy, KeyId=ids[name], PolicyName="default")
        yield from _compare(f"policy of key {ids[name]}", key["KeyPolicy"], read)


def _compare(subject: str, expected: Any, read: Callable[[], Any]) -> Iterator[ManualChange]:
    """Yield whether a policy, which a function reads, is missing or different."""
    try:
        answer = read()
    except ClientError as error:
        if error.response["Error"]["Code"] not in MISSING:
            raise
        yield ManualChange(subject, "was deleted")
        return
    live = answer.get("PolicyDocument") or answer["Policy"]
    document = json.loads(live) if isinstance(live, str) else live
    if not _matches(_statements(expected), _statements(document)):
        yield ManualChange(subject, "differs from the deployed template")


def _statements(document: Any) -> list[Any]:
    statements = document["Statement"]
    return statements if isinstance(statements, list) else [statements]


def _matches(expected: Any, live: Any) -> bool:
    """Return whether a live value can be that of a template; its references match any text.

    A list of one is equal to its element, and lists are compared in any order, as IAM does.
    """
    if isinstance(live, list) and len(live) == 1 and not isinstance(expected, list):
        (live,) = live
    if isinstance(expected, dict) and len(expected) == 1:
        ((function, argument),) = expected.items()
        if function == "Fn::Join":
            parts = [part if isinstance(part, str) else None for part in argument[1]]
            pattern = re.escape(argument[0]).join(
                ".*" if part is None else re.escape(part) for part in parts
            )
            return isinstance(live, str) and re.fullmatch(pattern, live) is not None
        if function == "Ref" or function.startswith("Fn::"):
            return isinstance(live, str)
    if isinstance(expected, list) or isinstance(live, list):
        first, second = _list(expected), list(_list(live))
        for item in first:
            match = next(
                (number for number, other in enumerate(second) if _matches(item, other)), None
            )
            if match is None:
                return False
            second.pop(match)
        return not second
    if isinstance(expected, dict) and isinstance(live, dict):
        return expected.keys() == live.keys() and all(
            _matches(value, live[name]) for name, value in expected.items()
        )
    return _scalar(expected) == _scalar(live)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _scalar(value: Any) -> str:
    """Return a text: policies may have booleans and numbers as such, or as texts."""
    text = str(value).lower() if isinstance(value, bool) else str(value)
    return ROOT_OF_ACCOUNT.sub(r"\1", text)
