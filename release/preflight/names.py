"""Names that the stage's stacks need, and that something else in the account has."""

from collections.abc import Iterator
from dataclasses import dataclass

from release.parameters import ROOT
from release.preflight.account import Account
from release.preflight.findings import CheckFinding, ok, refused, unknown
from release.stage_resources import Unresolved, resolve


@dataclass(frozen=True)
class NamedType:
    """A type of resources whose names the templates choose.

    `importable`: a stack can adopt what exists
    (https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/resource-import-supported-resources.html).
    """

    title: str
    name: str
    delete: str
    importable: bool = True


NAMED_TYPES = {
    "AWS::SageMaker::Endpoint": NamedType(
        "endpoint", "EndpointName", "aws sagemaker delete-endpoint --endpoint-name {}", False
    ),
    "AWS::Logs::LogGroup": NamedType(
        "log group", "LogGroupName", "aws logs delete-log-group --log-group-name {}"
    ),
    "AWS::SSM::Parameter": NamedType("parameter", "Name", "aws ssm delete-parameter --name {}"),
    "AWS::SNS::Topic": NamedType(
        "topic", "TopicName", "aws sns delete-topic --topic-arn, of topic {}"
    ),
}


def check(account: Account) -> Iterator[CheckFinding]:
    """Look for every name of the templates that the stage's own stacks do not have yet."""
    free = 0
    for resource_type, named in NAMED_TYPES.items():
        new = dict(_new_names(account, resource_type, named.name))
        taken = _existing(account, resource_type, new) if new else set()
        free += len(new.keys() - taken)
        for name in sorted(new.keys() & taken):
            yield _taken(account, named, name, new[name])
    if free:
        yield ok("names", f"{free} new names are free")


def _new_names(account: Account, resource_type: str, key: str) -> Iterator[tuple[str, str]]:
    """Yield names that are chosen by templates and not deployed yet, with their stacks."""
    for stack, logical_id, properties in account.resources(resource_type):
        if key in properties and logical_id not in account.deployed(stack):
            try:
                yield resolve(properties[key], account.pseudo_parameters), stack
            except Unresolved:
                continue  # CloudFormation completes it: it is free


def _existing(account: Account, resource_type: str, names: dict[str, str]) -> set[str]:
    """Return names of a type that exist, among them all of `names` that do."""
    match resource_type:
        case "AWS::SageMaker::Endpoint":
            return set(account.running)
        case "AWS::Logs::LogGroup":
            pages = account.client("logs").get_paginator("describe_log_groups")
            return {
                group["logGroupName"]
                for name in names
                for page in pages.paginate(logGroupNamePrefix=name)
                for group in page["logGroups"]
            }
        case "AWS::SSM::Parameter":
            pages = account.client("ssm").get_paginator("get_parameters_by_path")
            path = f"{ROOT}{account.stage}/"
            return {
                parameter["Name"]
                for page in pages.paginate(Path=path, Recursive=True)
                for parameter in page["Parameters"]
            }
    pages = account.client("sns").get_paginator("list_topics")
    return {
        topic["TopicArn"].rpartition(":")[2]
        for page in pages.paginate()
        for topic in page["Topics"]
    }


def _taken(account: Account, named: NamedType, name: str, stack: str) -> CheckFinding:
    subject = f"{named.title} {name}"
    for owner in account.templates.keys() - {stack}:
        if any(value.endswith(name) for value in account.deployed(owner).values()):
            # It moves between the stage's own stacks, which CloudFormation does one by one.
            return unknown(subject, f"belongs to {owner} now, and to {stack} after this deploy")
    keep = f", or keep it: cdk import {stack}, which asks for it" if named.importable else ""
    return refused(
        subject,
        "exists: CloudFormation would not create it again",
        f"aws cloudformation describe-stack-resources --physical-resource-id {name} tells whose it "
        f"is: rename one of the two; where no stack has it: {named.delete.format(name)}{keep}",
    )
