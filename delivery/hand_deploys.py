"""Deploys by hand: stacks whose template is not the one that the last delivery left."""

import hashlib
import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from delivery.archive_bucket import ArchiveBucket
from plan import stage_record
from plan.stage_record import DeliveryOutcome, Event
from release.stack_template import stack_template

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient


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
    events = stage_record.read(bucket.s3, bucket.name)
    return next((event for event in events if event.commit), None)


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
