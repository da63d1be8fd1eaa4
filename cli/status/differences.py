"""Differences between stages and their last deliveries."""

from collections.abc import Iterable, Iterator
from typing import Any

import boto3

from cli.names import stage_of
from delivery.aws import client
from delivery.bucket import model_bucket
from delivery.drift import LiveDifference, last_delivery, live_differences, stacks_deployed_by_hand
from delivery.record import DELETED_RECORD, record_is_deleted
from plan.archives import ArchiveBucket
from plan.stage_record import Deliveries, DeliveryOutcome


def read_differences(
    session: boto3.Session,
    stage: str | None,
    stages: Iterable[str],
    endpoints: Iterable[str],
    catalog_endpoints: Iterable[str],
) -> list[LiveDifference]:
    """Return the differences of one stage, or of every stage with an endpoint or catalog entry.

    A missing endpoint of the catalog, or of the stage's last delivery, is a difference.
    Raise `ClientError`.
    """
    by_stage: dict[str, set[str]] = {stage: set()} if stage else {}
    for name in {*endpoints, *catalog_endpoints}:
        if owner := stage or stage_of(name, stages):
            by_stage.setdefault(owner, set()).add(name)
    cloudformation, s3 = client(session, "cloudformation"), client(session, "s3")
    differences = list[LiveDifference]()
    for owner, names in by_stage.items():
        bucket = model_bucket(cloudformation, owner)
        expected = names.intersection(catalog_endpoints)
        if bucket and stage:
            expected |= _delivered_endpoints(s3, bucket, stage)
        differences += live_differences(session, owner, names, bucket, expected=expected)
        if bucket and stage:
            differences += _deploys_by_hand(cloudformation, ArchiveBucket(s3, bucket), stage)
    return differences


def _deploys_by_hand(
    cloudformation: Any, bucket: ArchiveBucket, stage: str
) -> Iterator[LiveDifference]:
    """Yield the stacks that were deployed after the last delivery, but not by one.

    Also yield that the record of deliveries was deleted.
    """
    last = last_delivery(bucket)
    if record_is_deleted(bucket, [last] if last else []):
        section = 'docs/runbook.md, "The record of deliveries was deleted"'
        yield LiveDifference(stage, DELETED_RECORD, section)
    for stack in stacks_deployed_by_hand(cloudformation, last):
        assert last
        text = f"deployed by hand after the delivery of {last.ended}"
        yield LiveDifference(stack, text, f"cdk diff -c stage={stage}")


def _delivered_endpoints(s3: Any, bucket: str, stage: str) -> set[str]:
    """Return the endpoints with models in the newest successful delivery."""
    for event in reversed(Deliveries.read(s3, bucket).entries):
        if event.result == DeliveryOutcome.DELIVERED:
            return {f"{stage}-{model.partition('/')[0]}" for model in event.versions}
    return set()
