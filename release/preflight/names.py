"""Names that the stage's stacks need, and that something else in the account has."""

from collections.abc import Collection, Iterator

from release.parameters import ROOT
from release.preflight.account import Account
from release.preflight.findings import CheckFinding, ok, refused, unknown

NAMED_TYPES = {
    "AWS::SageMaker::Endpoint": ("endpoint", "EndpointName"),
    "AWS::Logs::LogGroup": ("log group", "LogGroupName"),
    "AWS::SSM::Parameter": ("parameter", "Name"),
    "AWS::SNS::Topic": ("topic", "TopicName"),
}
"""Types of resources whose names the templates choose: what a reader calls one, and the property
that has its name."""


def check(account: Account) -> Iterator[CheckFinding]:
    """Look for every name of the templates that the stage's own stacks do not have yet."""
    free = 0
    for resource_type, (title, key) in NAMED_TYPES.items():
        new = dict(_new_names(account, resource_type, key))
        taken = new.keys() & (_existing(account, resource_type, new) if new else ())
        free += len(new) - len(taken)
        for name in sorted(taken):
            yield _taken(account, title, name, new[name])
    if free:
        yield ok("names", f"{free} new names are free")


def _new_names(account: Account, resource_type: str, key: str) -> Iterator[tuple[str, str]]:
    """Yield names that are chosen by templates and not deployed yet, with their stacks."""
    for stack, logical_id, properties in account.resources(resource_type):
        name = properties.get(key)
        if isinstance(name, str) and logical_id not in account.deployed(stack):
            yield name, stack


def _existing(account: Account, resource_type: str, names: Collection[str]) -> set[str]:
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
    pages = account.client("sns").get_paginator("list_topics").paginate()
    return {topic["TopicArn"].rpartition(":")[2] for page in pages for topic in page["Topics"]}


def _taken(account: Account, title: str, name: str, stack: str) -> CheckFinding:
    subject = f"{title} {name}"
    for owner in account.templates.keys() - {stack}:
        if any(value.endswith(name) for value in account.deployed(owner).values()):
            # It moves between the stage's own stacks, which CloudFormation does one by one.
            return unknown(subject, f"belongs to {owner} now, and to {stack} after this deploy")
    return refused(
        subject,
        "exists: CloudFormation would not create it again",
        f"aws cloudformation describe-stack-resources --physical-resource-id {name} shows its "
        "stack: rename one of the two; where it has no stack, delete it",
    )
