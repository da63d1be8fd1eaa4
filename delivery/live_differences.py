"""Differences between a stage and the live templates of its endpoints' stacks."""

import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import boto3

from delivery.archive_bucket import ArchiveBucket
from delivery.catalog_differences import differences
from delivery.changed_by_hand import manual_changes
from delivery.endpoint_state import endpoint_fault
from delivery.errors import NotDelivered, Unfinished
from delivery.stack_status import MISSING, incomplete_stacks
from release.stack_catalog import catalog_entries, prefixes
from release.stack_endpoints import stack_endpoints
from release.stack_template import stack_template
from release.templates import Template


@dataclass(frozen=True)
class LiveDifference:
    """A difference, and the command that shows or removes it."""

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
    names = sorted({*endpoints, *expected})
    statuses = incomplete_stacks(cloudformation, names)
    deliver = f"make deliver STAGE={stage}"
    models = f"{stage}-models"
    if not incomplete_stacks(cloudformation, [models]) and (
        template := stack_template(cloudformation, models)
    ):
        yield from _manual_changes(session, models, template)
    for name in names:
        status = statuses.get(name)
        if status == MISSING:
            if name in expected:
                yield LiveDifference(name, "the stack does not exist: it was deleted", deliver)
        elif status:
            command = f"aws cloudformation describe-stack-events --stack-name {name}"
            yield LiveDifference(name, f"the stack is {status}", command)
        elif template := stack_template(cloudformation, name):
            yield from _manual_changes(session, name, template)
            with suppress(Unfinished):  # the endpoint is being updated
                yield from _endpoint_differences(session, stage, name, template)
            archives = ArchiveBucket(session.client("s3"), bucket) if bucket else None
            for subject, text in _missing_archives(archives, template) if archives else ():
                yield LiveDifference(f"{name.removeprefix(f'{stage}-')}/{subject}", text, deliver)


def _manual_changes(
    session: boto3.Session, stack: str, template: Template
) -> Iterator[LiveDifference]:
    for change in manual_changes(session, stack, template):
        yield LiveDifference(change.subject, change.text, change.fix)


def _endpoint_differences(
    session: boto3.Session, stage: str, name: str, template: Template
) -> Iterator[LiveDifference]:
    clients = session.client("sagemaker"), session.client("cloudformation")
    for endpoint in stack_endpoints(stage, {name: template}):
        if fault := endpoint_fault(*clients, endpoint, deadline=0):
            text = fault.text.removeprefix(f"{endpoint.name} ")
            command = f"aws sagemaker describe-endpoint --endpoint-name {endpoint.name}"
            yield LiveDifference(endpoint.name, text, command)
        templates = {endpoint.short_name: template}
        for entry in differences(session.client("ssm"), stage, templates):
            yield LiveDifference(entry.model, entry.text.partition(": ")[2], entry.command)


def _missing_archives(bucket: ArchiveBucket, template: Template) -> Iterator[tuple[str, str]]:
    """Yield model and message for each archive that is missing or was replaced."""
    for value in catalog_entries(template).values():
        entry = json.loads(value)
        for prefix in sorted(prefixes(template)):
            key = f"{prefix}{entry['target_model']}"
            try:
                if not bucket.is_complete(key):
                    yield entry["model"], f"s3://{bucket.name}/{key} does not exist"
            except NotDelivered as error:  # its SHA-256 is not the manifest's
                yield entry["model"], str(error)
