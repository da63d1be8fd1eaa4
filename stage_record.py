"""The record of a stage: which commits it has, and who changed what, when, and how that ended.

`/triton/STAGE/delivered`, an SSM parameter, has the latest deliveries: what a rollback goes back
to, and whether one is in progress. It is overwritten.

`history/` in the stage's bucket of models has every event, as it began and as it ended. Nothing is
written over there: each object is new. They are objects because the versions of a stage's models
(240 on an endpoint) do not fit into a parameter (4 KB), whose history ends after 100 versions
(Systems Manager user guide, "Working with parameter versions").
"""

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_ssm import SSMClient

FOLDER = "history/"
ENDED = ".ended.json"
LONGEST = timedelta(hours=6)
"""After which a delivery that says `started` has been killed: no job and no session of the deploy
role is longer (`stacks/time_budget.py`)."""


class Outcome(StrEnum):
    """How a delivery ended. `STARTED`: it was interrupted, or is in progress."""

    STARTED = "started"
    DELIVERED = "delivered"
    FAILED = "failed"
    WRONG = "wrong"
    ROLLED_BACK = "rolled back"


@dataclass(frozen=True)
class Delivery:
    """One commit on its way to the stage, at a time in UTC."""

    commit: str
    time: str
    outcome: Outcome


def delivered_parameter(stage: str) -> str:
    """Return the name of the parameter that lists a stage's deliveries."""
    return f"/triton/{stage}/delivered"


def read_deliveries(ssm: "SSMClient", stage: str) -> tuple[str | None, list[Delivery]]:
    """Return the id of the stack of models that the parameter is about, and its deliveries."""
    try:
        value = ssm.get_parameter(Name=delivered_parameter(stage))["Parameter"]["Value"]
    except ssm.exceptions.ParameterNotFound:
        return None, []
    record: Any = json.loads(value)
    if isinstance(record, list):  # as it was before it named a stack
        record = {"stack": None, "deliveries": record}
    return record["stack"], [
        Delivery(it["commit"], it["time"], Outcome(it["outcome"])) for it in record["deliveries"]
    ]


def in_progress(ssm: "SSMClient", stage: str) -> Delivery | None:
    """Return the delivery of a stage that is in progress, or was killed within the last hours."""
    _, deliveries = read_deliveries(ssm, stage)
    if not deliveries or deliveries[-1].outcome is not Outcome.STARTED:
        return None
    age = datetime.now(UTC) - datetime.fromisoformat(deliveries[-1].time)
    return deliveries[-1] if age < LONGEST else None


@dataclass(frozen=True, kw_only=True)
class Event:
    """A change of a stage: a delivery, or a command for one model.

    `versions` are by `endpoint/model`: those of a commit, or of the command's models. `who` is the
    caller's ARN. Times are ISO 8601 in UTC; `ended` is None while it is in progress, or where it
    was killed.
    """

    stage: str
    action: str
    who: str
    versions: dict[str, str]
    commit: str | None = None
    result: str = Outcome.STARTED
    message: str = ""
    begun: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))
    ended: str | None = None
    number: str = field(default_factory=lambda: uuid4().hex[:8])

    def end(self, result: str, message: str = "") -> "Event":
        """Return the event as it has ended now."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        return replace(self, result=result, message=message, ended=now)

    @property
    def _name(self) -> str:
        return f"{datetime.fromisoformat(self.begun):%Y%m%dT%H%M%S.%fZ}-{self.number}"


def write(s3: "S3Client", bucket: str, event: Event) -> None:
    """Write an event as it is now; what is there is never written over."""
    s3.put_object(
        Bucket=bucket,
        Key=f"{FOLDER}{event._name}{ENDED if event.ended else '.json'}",
        Body=json.dumps(asdict(event), indent=1).encode(),
        ContentType="application/json",
        IfNoneMatch="*",
    )


def read(s3: "S3Client", bucket: str, *, latest: int | None = None) -> Iterator[Event]:
    """Yield events, the newest first: all, or the `latest`."""
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=FOLDER)
    keys = {it["Key"] for page in pages for it in page.get("Contents", ())}
    names = {it.removesuffix(ENDED).removesuffix(".json") for it in keys}
    for name in sorted(names, reverse=True)[:latest]:
        key = name + (ENDED if name + ENDED in keys else ".json")
        content = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        with suppress(ValueError, TypeError, RecursionError):
            written = json.loads(content)
            if _has_types(written):  # whoever publishes may write something else there
                yield Event(**written)


def _has_types(written: Any) -> bool:
    """Whether the values of an event are what `Event` declares."""
    match written:
        case {"versions": dict(versions), "begun": str(begun), **others}:
            datetime.fromisoformat(begun)
            optional = ("commit", "ended")
            texts = (it for key, it in others.items() if it is not None or key not in optional)
            return all(isinstance(it, str) for it in (*versions.values(), *texts))
    return False
