"""What differs from the last delivery: deploys by hand, deleted and changed resources.

CloudFormation compares templates, so a deploy does not notice changed resources. `cdk drift` asks
CloudFormation to read them, which takes minutes and a permission for each, and leaves out inline
policies; the local SageMaker's CloudFormation checks hardly any type. What is compared here:
endpoints, catalog, archives, that log groups and alarms exist, inline policies of roles, and the
policies of buckets and KMS keys. Other changes by hand, such as a bucket's life cycle or an alarm's
threshold, are not.
"""

import hashlib
import json
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import boto3
from botocore.exceptions import ClientError

from delivery.aws import DENIED, client, failure_reason, physical_ids, stack_template
from delivery.catalog import Entries, catalog_differences, deployed_entries
from delivery.errors import Unfinished
from delivery.state import MISSING as MISSING_STACK
from delivery.state import endpoint_fault, incomplete_stacks
from delivery.store import redelivery
from plan import stage_record
from plan.archives import ArchiveBucket, ArchiveReplaced
from plan.deployed import models_stack
from plan.document import EndpointSettings
from plan.stage_record import DELIVER, ROLLBACK, DeliveryOutcome, Event
from release.templates import Template, Unresolved, resolve, resources

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

MISSING = ("NoSuchEntity", "NoSuchBucketPolicy", "NoSuchBucket", "NotFoundException")
"""Error codes of IAM, S3 and KMS for a missing resource or policy."""
PERMISSIONS_RUNBOOK = 'docs/runbook.md, "Permissions are missing"'
MAX_ALARMS = 100
"""Maximum number of names in one call of DescribeAlarms (API reference)."""
ROOT_OF_ACCOUNT = re.compile(r"arn:[\w-]+:iam::(\d{12}):root")
"""Principals of this form and account ids are the same (IAM user guide, principals)."""


@dataclass(frozen=True)
class LiveDifference:
    """A difference, and the command, or the section of the runbook, that shows or removes it."""

    subject: str
    text: str
    command: str


def live_differences(
    session: boto3.Session,
    stage: str,
    endpoints: Iterable[str],
    bucket: str | None,
    *,
    expected: Collection[str] = (),
) -> Iterator[LiveDifference]:
    """Yield the differences of endpoints and of their stacks, which have the same names.

    A missing stack is a difference only for endpoints in `expected`. For a stack that is updating
    or has failed, yield only its status: the intended state of its endpoint is unknown.
    """
    cloudformation = session.client("cloudformation")
    archives = ArchiveBucket(session.client("s3"), bucket) if bucket else None
    names = sorted({*endpoints, *expected})
    statuses = incomplete_stacks(cloudformation, names)
    models = models_stack(stage)
    if not incomplete_stacks(cloudformation, [models]) and (
        template := stack_template(cloudformation, models)
    ):
        yield from manual_changes(session, models, template)
    for name in names:
        status = statuses.get(name)
        if status == MISSING_STACK:
            if name in expected:
                yield LiveDifference(
                    name, "the stack does not exist: it was deleted", redelivery(stage)
                )
        elif status:
            command = f"aws cloudformation describe-stack-events --stack-name {name}"
            yield LiveDifference(name, f"the stack is {status}", command)
        elif template := stack_template(cloudformation, name):
            yield from manual_changes(session, name, template)
            yield from _endpoint_differences(session, stage, name, template, archives)


def _endpoint_differences(
    session: boto3.Session,
    stage: str,
    stack: str,
    template: Template,
    archives: ArchiveBucket | None,
) -> Iterator[LiveDifference]:
    """Yield the differences of a stack's endpoint, of its catalog and of its archives."""
    short_name = stack.removeprefix(f"{stage}-")
    endpoint = EndpointSettings.of_template(template)
    if endpoint:
        clients = session.client("sagemaker"), session.client("cloudformation")
        with suppress(Unfinished):  # the endpoint is being updated
            if fault := endpoint_fault(*clients, endpoint, template, deadline=0):
                command = f"aws sagemaker describe-endpoint --endpoint-name {endpoint.name}"
                yield LiveDifference(endpoint.name, fault.predicate, fault.runbook or command)
    entries = deployed_entries(session, template)
    for difference in catalog_differences(session, stage, {short_name: entries}):
        text = difference.text.partition(": ")[2]
        if difference.deployed and difference.has_other_version:
            version = difference.deployed["version"]
            text += f". To keep it, deliver a release with it: make rollback STAGE={stage}, or a "
            text += f"revert. To serve the delivered {version} again:"
        yield LiveDifference(difference.model, text, difference.command)
    if archives and endpoint:
        for subject, text in _missing_archives(archives, endpoint, entries):
            yield LiveDifference(f"{short_name}/{subject}", text, redelivery(stage))


def _missing_archives(
    bucket: ArchiveBucket, endpoint: EndpointSettings, entries: Entries
) -> Iterator[tuple[str, str]]:
    """Yield model and message for each archive that is missing or was replaced."""
    models = {
        f"{prefix}{entry['target_model']}": entry["model"]
        for entry in entries.values()
        for prefix in sorted(endpoint.prefixes)
    }
    for key, is_listed in bucket.doubtful(models):
        try:
            if not is_listed or not bucket.is_complete(key):
                yield models[key], f"s3://{bucket.name}/{key} does not exist"
        except ArchiveReplaced as error:
            yield models[key], str(error)


def manual_changes(
    session: boto3.Session, stack: str, template: Template
) -> Iterator[LiveDifference]:
    """Yield the changes of a stack with this template; a missing permission is one, too."""
    try:
        yield from _manual_changes(session, stack, template)
    except ClientError as error:
        if error.response["Error"]["Code"] not in DENIED:
            raise
        text = f"not all log groups, policies and alarms are compared: {failure_reason(error)}"
        yield LiveDifference(stack, text, 'docs/security.md, "Permissions"')


def _manual_changes(
    session: boto3.Session, stack: str, template: Template
) -> Iterator[LiveDifference]:
    ids = physical_ids(client(session, "cloudformation"), stack)
    logs, iam = client(session, "logs"), client(session, "iam")
    s3, kms = client(session, "s3"), client(session, "kms")
    for name, group in resources(template, "AWS::Logs::LogGroup"):
        groups = logs.describe_log_groups(logGroupNamePrefix=ids[name])["logGroups"]
        if ids[name] not in {each["logGroupName"] for each in groups}:
            option = f"--log-group-name {ids[name]}"
            command = f"aws logs create-log-group {option}"
            if days := group.get("RetentionInDays"):
                command += f" && aws logs put-retention-policy {option} --retention-in-days {days}"
            yield LiveDifference(ids[name], "the log group was deleted", command)
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
    yield from _deleted_alarms(session, stack, template, ids)


def _deleted_alarms(
    session: boto3.Session, stack: str, template: Template, ids: dict[str, str]
) -> Iterator[LiveDifference]:
    """Yield deleted alarms, with the command that creates one, or that shows its properties."""
    cloudwatch = client(session, "cloudwatch")
    alarms = {ids[name]: name for name, _ in resources(template, "AWS::CloudWatch::Alarm")}
    names = list(alarms)
    for start in range(0, len(names), MAX_ALARMS):
        batch = names[start : start + MAX_ALARMS]
        answer = cloudwatch.describe_alarms(AlarmNames=batch, MaxRecords=MAX_ALARMS)
        for alarm in answer["MetricAlarms"]:
            del alarms[alarm["AlarmName"]]
    account = session.client("sts").get_caller_identity()["Account"] if alarms else ""
    for alarm, name in alarms.items():
        properties = template["Resources"][name]["Properties"]
        values = {**ids, "AWS::AccountId": account}
        match properties.get("AlarmName"):
            # The physical id of a configuration has its name in lower case only.
            case {"Fn::Join": ["", [str(prefix), {"Fn::GetAtt": [config, attribute]}]]}:
                values[f"{config}.{attribute}"] = alarm.removeprefix(prefix)
        try:
            known = _resolved(properties, values)
        except Unresolved:
            command = f"aws cloudformation get-template --stack-name {stack} "
            command += f"--query TemplateBody.Resources.{name}"
        else:
            text = shlex.quote(json.dumps({**known, "AlarmName": alarm}))
            command = f"aws cloudwatch put-metric-alarm --cli-input-json {text}"
        yield LiveDifference(alarm, "the alarm was deleted", command)


def _resolved(value: Any, values: dict[str, str]) -> Any:
    """Return a property of a template with its intrinsic functions resolved. Raise `Unresolved`."""
    if isinstance(value, list):
        return [_resolved(item, values) for item in value]
    if not isinstance(value, dict):
        return value
    if any(name == "Ref" or name.startswith("Fn::") for name in value):
        return resolve(value, values)
    return {name: _resolved(item, values) for name, item in value.items()}


def _compare(subject: str, expected: Any, read: Callable[[], Any]) -> Iterator[LiveDifference]:
    """Yield whether a policy, which a function reads, is missing or different."""
    try:
        answer = read()
    except ClientError as error:
        if error.response["Error"]["Code"] not in MISSING:
            raise
        yield LiveDifference(subject, "was deleted", PERMISSIONS_RUNBOOK)
        return
    live = answer.get("PolicyDocument") or answer["Policy"]
    document = json.loads(live) if isinstance(live, str) else live
    if not _matches(_statements(expected), _statements(document)):
        yield LiveDifference(subject, "differs from the deployed template", PERMISSIONS_RUNBOOK)


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


def template_digests(
    cloudformation: "CloudFormationClient", stacks: Iterable[str]
) -> dict[str, str]:
    """Return stack -> digest of its deployed template, without stacks that do not exist."""
    templates = {stack: stack_template(cloudformation, stack) for stack in stacks}
    return {
        stack: hashlib.sha256(json.dumps(template, sort_keys=True).encode()).hexdigest()
        for stack, template in templates.items()
        if template is not None
    }


def last_delivery(bucket: ArchiveBucket) -> Event | None:
    """Return the newest delivery or rollback in the history of a stage."""
    return next(stage_record.read(bucket.s3, bucket.name, actions=(DELIVER, ROLLBACK)), None)


def stacks_deployed_by_hand(
    cloudformation: "CloudFormationClient", last: Event | None
) -> list[str]:
    """Return the stacks whose template was changed after the `last` delivery.

    After an unfinished delivery, CloudFormation may have changed them. A stack that does not exist
    was deleted on purpose: the next delivery creates it.
    """
    if last is None or last.result == DeliveryOutcome.UNFINISHED:
        return []
    live = template_digests(cloudformation, last.stacks)
    return sorted(stack for stack, digest in live.items() if digest != last.stacks[stack])
