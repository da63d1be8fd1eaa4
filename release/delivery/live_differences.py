"""How a stage differs from the live templates of its endpoints' stacks."""

import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import boto3

from release.delivery.archive_bucket import ArchiveBucket
from release.delivery.catalog_differences import differences
from release.delivery.endpoint_state import endpoint_fault
from release.delivery.errors import NotDelivered, Unfinished
from release.delivery.stack_status import NOT_THERE, not_complete
from release.stack_template import stack_template
from release.stage_resources import catalog_entries, prefixes, stack_endpoints
from release.tree import Template


@dataclass(frozen=True)
class Problem:
    """A difference, and the command that shows or repairs it."""

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
) -> Iterator[Problem]:
    """Yield the differences of endpoints, whose stacks have their names; nothing is changed.

    Those in `expected` should exist. Of a stack that is being changed or has failed, nobody knows
    what its endpoint should be.
    """
    cloudformation = session.client("cloudformation")
    names = sorted({*endpoints, *expected})
    statuses = not_complete(cloudformation, names)
    deliver = f"make deliver STAGE={stage}"
    for name in names:
        status = statuses.get(name)
        if status == NOT_THERE:
            if name in expected:
                yield Problem(name, "the stack does not exist: somebody deleted it", deliver)
        elif status:
            command = f"aws cloudformation describe-stack-events --stack-name {name}"
            yield Problem(name, f"the stack is {status}", command)
        elif template := stack_template(cloudformation, name):
            with suppress(Unfinished):  # the endpoint is being updated
                yield from _of_endpoint(session, stage, name, template)
            archives = ArchiveBucket(session.client("s3"), bucket) if bucket else None
            for subject, text in _missing_archives(archives, template) if archives else ():
                yield Problem(f"{name.removeprefix(f'{stage}-')}/{subject}", text, deliver)


def _of_endpoint(
    session: boto3.Session, stage: str, name: str, template: Template
) -> Iterator[Problem]:
    clients = session.client("sagemaker"), session.client("cloudformation")
    for endpoint in stack_endpoints(stage, name, template):
        if fault := endpoint_fault(*clients, endpoint, deadline=0):
            text = fault.text.removeprefix(f"{endpoint.name} ")
            command = f"aws sagemaker describe-endpoint --endpoint-name {endpoint.name}"
            yield Problem(endpoint.name, text, command)
        for each in differences(session.client("ssm"), stage, {endpoint.short_name: template}):
            yield Problem(each.model, each.text.partition(": ")[2], each.command)


def _missing_archives(bucket: ArchiveBucket, template: Template) -> Iterator[tuple[str, str]]:
    """Yield each model with an archive that is missing or replaced, and which it is."""
    for value in catalog_entries(template).values():
        entry = json.loads(value)
        for prefix in sorted(prefixes(template)):
            key = f"{prefix}{entry['target_model']}"
            try:
                if not bucket.is_complete(key):
                    yield entry["model"], f"s3://{bucket.name}/{key} is not there"
            except NotDelivered as other_bytes:
                yield entry["model"], str(other_bytes)
