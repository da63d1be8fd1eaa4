"""What differs from the last delivery: deploys by hand, and changed endpoints, catalogs, archives.

CloudFormation compares templates, so a deploy does not notice changed resources. `cdk drift` asks
CloudFormation to read most of them; it leaves out inline policies of roles.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import boto3

from delivery.aws import stack_template
from delivery.bucket import ArchiveBucket
from delivery.catalog import Entries, deployed_entries, differences
from delivery.errors import NotDelivered, Unfinished
from delivery.state import MISSING, endpoint_fault, incomplete_stacks
from plan import stage_record
from plan.document import EndpointSettings
from plan.stage_record import DELIVER, ROLLBACK, DeliveryOutcome, Event
from release.templates import Template

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient


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
    archives = ArchiveBucket(session.client("s3"), bucket) if bucket else None
    names = sorted({*endpoints, *expected})
    statuses = incomplete_stacks(cloudformation, names)
    deliver = f"make deliver STAGE={stage}"
    for name in names:
        status = statuses.get(name)
        if status == MISSING:
            if name in expected:
                yield LiveDifference(name, "the stack does not exist: it was deleted", deliver)
        elif status:
            command = f"aws cloudformation describe-stack-events --stack-name {name}"
            yield LiveDifference(name, f"the stack is {status}", command)
        elif template := stack_template(cloudformation, name):
            yield from _endpoint_differences(session, stage, name, template, archives)


def _endpoint_differences(
    session: boto3.Session,
    stage: str,
    stack: str,
    template: Template,
    archives: ArchiveBucket | None,
) -> Iterator[LiveDifference]:
    """Yield the differences of a stack's endpoint, of its catalog and of its archives."""
    short_name, deliver = stack.removeprefix(f"{stage}-"), f"make deliver STAGE={stage}"
    endpoint = EndpointSettings.of_template(template)
    if endpoint:
        clients = session.client("sagemaker"), session.client("cloudformation")
        with suppress(Unfinished):  # the endpoint is being updated
            if fault := endpoint_fault(*clients, endpoint, template, deadline=0):
                text = fault.text.removeprefix(f"{endpoint.name} ")
                command = f"aws sagemaker describe-endpoint --endpoint-name {endpoint.name}"
                yield LiveDifference(endpoint.name, text, command)
    entries = deployed_entries(session, template)
    for entry in differences(session, stage, {short_name: entries}):
        yield LiveDifference(entry.model, entry.text.partition(": ")[2], entry.command)
    if archives and endpoint:
        for subject, text in _missing_archives(archives, endpoint, entries):
            yield LiveDifference(f"{short_name}/{subject}", text, deliver)


def _missing_archives(
    bucket: ArchiveBucket, endpoint: EndpointSettings, entries: Entries
) -> Iterator[tuple[str, str]]:
    """Yield model and message for each archive that is missing or was replaced."""
    for entry in entries.values():
        for prefix in sorted(endpoint.prefixes):
            key = f"{prefix}{entry['target_model']}"
            try:
                if not bucket.is_complete(key):
                    yield entry["model"], f"s3://{bucket.name}/{key} does not exist"
            except NotDelivered as error:  # its SHA-256 is not the manifest's
                yield entry["model"], str(error)


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
