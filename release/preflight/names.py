"""Names that the stage wants, and that somebody else has; and what an earlier destroy left."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import ClientError

from release.preflight.account import Account, NotDeployed, Unresolved
from release.preflight.rows import Row, Topic
from release.preflight.running import described

TOPIC = Topic("names")
OWNER = "aws:cloudformation:stack-name"
"""The tag that CloudFormation gives to what a stack makes
(https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cfn-resource-tags.html)."""


@dataclass(frozen=True)
class Kind:
    """One type of resource with a name of its own.

    `exists` returns the tags of what has the name, None where nothing has it. `remove` is the
    command that deletes it.
    """

    type: str
    called: str
    name: str
    exists: Callable[[Account, str], dict[str, str] | None]
    remove: str


def ask(account: Account) -> Iterator[Row]:
    """Look for every name of the templates that the stage's own stacks do not have yet."""
    free = 0
    for kind in KINDS:
        for stack, logical_id, properties in account.resources(kind.type):
            try:
                name = account.text(properties[kind.name])
            except (KeyError, Unresolved):
                continue  # CloudFormation chooses it: it is free
            if _owns(account, stack, logical_id):
                continue
            tags = kind.exists(account, name)
            if tags is None:
                free += 1
            else:
                yield _taken(account, kind, name, stack, tags)
    if free:
        yield TOPIC.ok("names", f"{free} new names are free")
    yield from _left_behind(account)


def _owns(account: Account, stack: str, logical_id: str) -> bool:
    try:
        return logical_id in account.deployed(stack)
    except NotDeployed:
        return False


def _taken(account: Account, kind: Kind, name: str, stack: str, tags: dict[str, str]) -> Row:
    owner = tags.get(OWNER)
    subject = f"{kind.called} {name}"
    if owner in account.templates and owner != stack:
        # It moves between the stage's own stacks, which CloudFormation does one after the other.
        return TOPIC.unknown(subject, f"belongs to {owner} now, and to {stack} after this deploy")
    if owner and owner != stack:
        return TOPIC.refused(
            subject, f"belongs to the stack {owner}", "rename one of the two stages or endpoints"
        )
    left = f"left behind by {stack}" if owner else "made by no stack"
    adopt = f"cdk import {stack}, which asks for it" if kind.type in IMPORTABLE else ""
    remove = kind.remove.format(name=name)
    return TOPIC.refused(
        subject,
        f"exists, {left}: CloudFormation would not create it again",
        f"{remove}{' , or keep it: ' + adopt if adopt else ''}".replace(" ,", ","),
    )


def _left_behind(account: Account) -> Iterator[Row]:
    """Yield the buckets that earlier stacks of this stage kept: nobody uses them any more.

    CloudFormation begins a bucket's name with its stack's and the resource's, in lower case.
    """
    wanted = {
        f"{stack}-{logical_id}-".lower(): (stack, logical_id)
        for stack, logical_id, _ in account.resources("AWS::S3::Bucket")
    }
    if not wanted:
        return
    pages = account.client("s3").get_paginator("list_buckets").paginate()
    names = [it["Name"] for page in pages for it in page.get("Buckets", ())]
    for prefix, (stack, logical_id) in wanted.items():
        own = account.deployed(stack).get(logical_id) if _owns(account, stack, logical_id) else None
        for name in names:
            if name.startswith(prefix) and name != own:
                yield TOPIC.ok(
                    f"bucket {name}",
                    f"an earlier {stack} left it with what it holds: it costs, and hinders nothing",
                    f"aws s3 rb s3://{name} --force",
                )


def _endpoint(account: Account, name: str) -> dict[str, str] | None:
    sagemaker = account.client("sagemaker")
    found = described(sagemaker, name)
    if found is None:
        return None
    tags = sagemaker.list_tags(ResourceArn=found["EndpointArn"])["Tags"]
    return {it["Key"]: it["Value"] for it in tags}


def _log_group(account: Account, name: str) -> dict[str, str] | None:
    logs = account.client("logs")
    pages = logs.get_paginator("describe_log_groups").paginate(logGroupNamePrefix=name)
    arns = [it["arn"] for page in pages for it in page["logGroups"] if it["logGroupName"] == name]
    if not arns:
        return None
    tags: dict[str, str] = logs.list_tags_for_resource(resourceArn=arns[0].removesuffix(":*"))[
        "tags"
    ]
    return tags


def _parameter(account: Account, name: str) -> dict[str, str] | None:
    ssm = account.client("ssm")
    filters = [{"Key": "Name", "Option": "Equals", "Values": [name]}]
    # An empty page with a token of the next is allowed (API reference of DescribeParameters).
    pages = ssm.get_paginator("describe_parameters").paginate(ParameterFilters=filters)
    if not any(page["Parameters"] for page in pages):
        return None
    tags = ssm.list_tags_for_resource(ResourceType="Parameter", ResourceId=name)["TagList"]
    return {it["Key"]: it["Value"] for it in tags}


def _topic(account: Account, name: str) -> dict[str, str] | None:
    sns = account.client("sns")
    arn = f"arn:{account.caller.partition}:sns:{account.region}:{account.caller.account}:{name}"
    try:
        sns.get_topic_attributes(TopicArn=arn)
    except sns.exceptions.NotFoundException:
        return None
    return {it["Key"]: it["Value"] for it in sns.list_tags_for_resource(ResourceArn=arn)["Tags"]}


def _bucket(account: Account, name: str) -> dict[str, str] | None:
    s3 = account.client("s3")
    try:
        found: Any = s3.get_bucket_tagging(Bucket=name)["TagSet"]
    except ClientError as error:
        if error.response["Error"]["Code"] == "NoSuchBucket":
            return None
        if error.response["Error"]["Code"] == "NoSuchTagSet":
            return {}
        raise
    return {it["Key"]: it["Value"] for it in found}


KINDS = (
    Kind(
        "AWS::SageMaker::Endpoint",
        "endpoint",
        "EndpointName",
        _endpoint,
        "aws sagemaker delete-endpoint --endpoint-name {name}",
    ),
    Kind(
        "AWS::Logs::LogGroup",
        "log group",
        "LogGroupName",
        _log_group,
        "aws logs delete-log-group --log-group-name {name}",
    ),
    Kind(
        "AWS::SSM::Parameter",
        "parameter",
        "Name",
        _parameter,
        "aws ssm delete-parameter --name {name}",
    ),
    Kind(
        "AWS::SNS::Topic",
        "topic",
        "TopicName",
        _topic,
        "aws sns delete-topic --topic-arn the topic's",
    ),
    Kind(
        "AWS::S3::Bucket",
        "bucket",
        "BucketName",
        _bucket,
        "aws s3 rb s3://{name} --force",
    ),
)
IMPORTABLE = ("AWS::Logs::LogGroup", "AWS::S3::Bucket", "AWS::SSM::Parameter", "AWS::SNS::Topic")
"""Types that an import into a stack takes
(https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/resource-import-supported-resources.html)."""
