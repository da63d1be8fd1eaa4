"""Checks before commands that change a stage's models, and the record of these commands."""

import argparse
import sys
from collections.abc import Mapping

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from model_build.errors import BuildError
from model_build.publishing.hosted import ArchivePrefix, archive_prefixes
from plan import stage_record
from plan.catalog import Catalog, Cause, ChangedMeanwhile, Entry, Revision
from plan.stage_record import MAX_RELEASES, Deliveries, DeliveryOutcome, Event
from platform_facts.rules.bucket_keys import HISTORY


def served_prefixes(endpoint_name: str) -> list[ArchivePrefix]:
    """Return the archive prefixes of an endpoint. Raise `BuildError` during an update."""
    clients = boto3.client("sagemaker"), boto3.client("cloudformation")
    return archive_prefixes(*clients, endpoint_name)


def check_no_delivery_in_progress(options: argparse.Namespace, bucket: str) -> None:
    """Raise `BuildError` during a delivery of the stage, without `--during-delivery`.

    A delivery compares the catalog with its commit at its beginning and at its end.
    """
    stage = options.stage
    delivery = Deliveries.read(boto3.client("s3"), bucket).in_progress()
    if delivery and not options.during_delivery:
        raise BuildError(
            f"a delivery of {delivery.release_name} to {stage} is in progress since "
            f"{delivery.begun}: wait until it ends (tritonsm history {stage}). If it was "
            f"killed, make deliver STAGE={stage} resumes it; --during-delivery ignores it"
        )


def check_version_not_delivered(options: argparse.Namespace, bucket: str) -> None:
    """Raise `BuildError` if the version belongs to a release that the stage can be rolled back to.

    These releases include the live one.
    """
    name = f"{options.endpoint}/{options.model}"
    for event in Deliveries.read(boto3.client("s3"), bucket).entries:
        is_kept = event.result != DeliveryOutcome.FAILED
        if is_kept and event.versions.get(name) == options.version:
            raise BuildError(
                f"{event.release_name}, delivered {event.begun}, has version {options.version} of "
                f"{name}, and {options.stage} may be rolled back to it: the last {MAX_RELEASES} "
                "releases keep theirs"
            )


def make_current(
    catalog: Catalog, entry: Entry, cause: Cause, *, caller: str, replaces: Revision | None
) -> None:
    """Write a catalog entry. Raise `BuildError` if another writer has changed it."""
    try:
        catalog.write(entry, cause, caller=caller, replaces=replaces)
    except ChangedMeanwhile as error:
        raise BuildError(str(error)) from None


def read_caller() -> str:
    """Return the ARN of the caller."""
    return str(boto3.client("sts").get_caller_identity()["Arn"])


def record_event(
    options: argparse.Namespace, action: str, versions: Mapping[str, str], bucket: str
) -> None:
    """Record an event with `versions` by model name; print a warning if that fails."""
    try:
        event = Event(
            stage=options.stage,
            action=action,
            who=read_caller(),
            versions={f"{options.endpoint}/{name}": version for name, version in versions.items()},
        )
        stage_record.write(boto3.client("s3"), bucket, event.end("done"))
    except (BotoCoreError, ClientError) as error:
        print(f"! not recorded in s3://{bucket}/{HISTORY}: {error}", file=sys.stderr)  # noqa: T201
