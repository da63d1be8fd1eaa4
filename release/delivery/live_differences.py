"""How a stage differs from the live templates of its endpoints' stacks."""

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

import boto3

from release.delivery import under_way
from release.delivery.archive_bucket import ArchiveBucket
from release.delivery.catalog_differences import differences
from release.delivery.endpoint_state import what_is_wrong
from release.delivery.errors import NotDelivered, Unfinished
from release.stack_template import stack_template
from release.stage_resources import catalog_entries, prefixes, stack_endpoints
from release.tree import Template


@dataclass(frozen=True)
class Problem:
    """What differs, and the command that shows or repairs it."""

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
) -> list[Problem]:
    """Return what differs of endpoints, whose stacks have their names; nothing is changed.

    Those in `expected` should exist. Of a stack that is being changed or has failed, nobody knows
    what its endpoint should be.
    """
    cloudformation = session.client("cloudformation")
    names = sorted({*endpoints, *expected})
    not_complete = under_way.not_complete(cloudformation, names)
    problems = []
    for name in names:
        status = not_complete.get(name)
        if status == under_way.NOT_THERE:
            if name in expected:
                text = "the stack does not exist: somebody deleted it"
                problems.append(Problem(name, text, f"make deliver STAGE={stage}"))
        elif status:
            command = f"aws cloudformation describe-stack-events --stack-name {name}"
            problems.append(Problem(name, f"the stack is {status}", command))
        elif template := stack_template(cloudformation, name):
            problems += _of_endpoint(session, stage, name, template)
            problems += _missing_archives(session, stage, name, template, bucket)
    return problems


def _of_endpoint(
    session: boto3.Session, stage: str, name: str, template: Template
) -> Iterator[Problem]:
    clients = session.client("sagemaker"), session.client("cloudformation")
    for endpoint in stack_endpoints(stage, name, template):
        try:
            fault = what_is_wrong(*clients, endpoint, deadline=0)
        except Unfinished:
            return
        if fault:
            text = fault.text.removeprefix(f"{name} ")
            yield Problem(name, text, f"aws sagemaker describe-endpoint --endpoint-name {name}")
    short_name = name.removeprefix(f"{stage}-")
    for difference in differences(session.client("ssm"), stage, {short_name: template}):
        yield Problem(difference.model, difference.text.partition(": ")[2], difference.command)


def _missing_archives(
    session: boto3.Session, stage: str, name: str, template: Template, bucket: str | None
) -> Iterator[Problem]:
    if bucket is None:
        return
    archives = ArchiveBucket(session.client("s3"), bucket)
    for value in catalog_entries(template).values():
        entry = json.loads(value)
        for prefix in sorted(prefixes(template)):
            key = f"{prefix}{entry['target_model']}"
            try:
                text = "" if archives.is_complete(key) else f"s3://{bucket}/{key} is not there"
            except NotDelivered as other_bytes:
                text = str(other_bytes)
            if text:
                subject = f"{name.removeprefix(f'{stage}-')}/{entry['model']}"
                yield Problem(subject, text, f"make deliver STAGE={stage}")
