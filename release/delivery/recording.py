"""A delivery, recorded: who began it with which versions, and how it ended."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError

import stage_record
from release.delivery.catalog_differences import declared_entries
from release.delivery.deployment import Deployment
from release.delivery.errors import ChangedByHand, DeliveredWrong, NotDelivered, Unfinished
from release.delivery.steps import say
from stage_record import Event, Outcome

RESULTS = {
    ChangedByHand: "changed by hand",
    DeliveredWrong: Outcome.WRONG.value,
    NotDelivered: Outcome.FAILED.value,
    Unfinished: "unfinished",
}
MESSAGE = 1000
"""Characters of an error that are kept."""


@contextmanager
def recorded(deployment: Deployment, action: str, commit: str) -> Iterator[None]:
    """Write an event when the `with` block begins and when it ends.

    The first delivery of a stage makes the bucket: its event is written when it ends.
    """
    event = Event(
        stage=deployment.assembly.stage,
        action=action,
        who=deployment.session.client("sts").get_caller_identity()["Arn"],
        versions=dict(_versions(deployment)),
        commit=commit,
    )
    _write(deployment, event)
    try:
        yield
    except tuple(RESULTS) as error:
        result = next(name for kind, name in RESULTS.items() if isinstance(error, kind))
        _write(deployment, event.end(result, str(error)[:MESSAGE]))
        raise
    _write(deployment, event.end(Outcome.DELIVERED))


def _write(deployment: Deployment, event: Event) -> None:
    """Write an event; failing to do so does not change how the delivery ends."""
    try:
        if bucket := deployment.bucket:
            stage_record.write(bucket.s3, bucket.name, event)
    except (BotoCoreError, ClientError) as error:
        say(f"! {stage_record.FOLDER} does not have this delivery as {event.result}: {error}")


def _versions(deployment: Deployment) -> Iterator[tuple[str, str]]:
    for endpoint in deployment.assembly.endpoints:
        for value in declared_entries(deployment.new(endpoint)).values():
            entry = json.loads(value)
            yield f"{endpoint.short_name}/{entry['model']}", entry["version"]
