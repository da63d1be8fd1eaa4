"""The record of a stage: its deliveries and model changes, by whom, when, and their results.

`/triton/STAGE/delivered`, an SSM parameter, has the latest deliveries: what a rollback goes back
to, and whether one is in progress. It is overwritten.

`history/` in the stage's bucket of models has every event, as it began and as it ended. Nothing is
written over there: each object is new. They are objects because the versions of a stage's models
(240 on an endpoint) do not fit into a parameter (4 KB), whose history ends after 100 versions
(Systems Manager user guide, "Working with parameter versions").
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Any
from uuid import uuid4

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_ssm import SSMClient

FOLDER = "history/"
BEGUN, ENDED = ".json", ".ended.json"
LONGEST = timedelta(hours=6)
"""After which a delivery that says `started` has been killed: no job and no session of the deploy
role is longer (`stacks/time_budget.py`)."""


class BrokenRecord(Exception):
    """The parameter has something else than deliveries."""


class DeliveryOutcome(StrEnum):
    """How a delivery ended. `STARTED`: it is in progress, or was killed.

    `UNFINISHED`: it ended while AWS was still changing the stage, or where nobody knows.
    """

    STARTED = "started"
    DELIVERED = "delivered"
    FAILED = "failed"
    WRONG = "wrong"
    UNFINISHED = "unfinished"
    ROLLED_BACK = "rolled back"


@dataclass(frozen=True)
class Delivery:
    """A commit's delivery to the stage, at a time in UTC."""

    commit: str
    time: str
    outcome: DeliveryOutcome

    def is_same(self, other: "Delivery") -> bool:
        """Whether the other one is this delivery, perhaps with another outcome."""
        return (self.commit, self.time) == (other.commit, other.time)


@dataclass(frozen=True)
class Deliveries:
    """The deliveries in the parameter, the newest last."""

    entries: tuple[Delivery, ...] = ()

    def in_progress(self) -> Delivery | None:
        """Return the delivery that is in progress, or was killed within the last hours."""
        if not self.entries or self.entries[-1].outcome is not DeliveryOutcome.STARTED:
            return None
        age = datetime.now(UTC) - datetime.fromisoformat(self.entries[-1].time)
        return self.entries[-1] if age < LONGEST else None


def delivered_parameter(stage: str) -> str:
    """Return the name of the parameter that lists a stage's deliveries."""
    return f"/triton/{stage}/delivered"


def read_deliveries(ssm: "SSMClient", stage: str) -> Deliveries:
    """Return the latest deliveries of a stage; broken entries are left out, and named.

    Raises `BrokenRecord` where the parameter has no list of deliveries.
    """
    name = delivered_parameter(stage)
    try:
        parameter = ssm.get_parameter(Name=name)["Parameter"]
    except ssm.exceptions.ParameterNotFound:
        return Deliveries()
    try:
        listed = list(json.loads(parameter["Value"])["deliveries"])
    except (ValueError, KeyError, TypeError):
        raise BrokenRecord(
            f"{name} is not a list of deliveries: somebody has written it. Write one of its "
            f"earlier values again: aws ssm get-parameter-history --name {name}"
        ) from None
    entries = (_delivery(name, number, content) for number, content in enumerate(listed, 1))
    return Deliveries(tuple(entry for entry in entries if entry))


def _delivery(name: str, number: int, content: Any) -> Delivery | None:
    try:
        commit, time = content["commit"], content["time"]
        datetime.now(UTC) - datetime.fromisoformat(time)  # a time without its zone is none
        return Delivery(str(commit), time, DeliveryOutcome(content["outcome"]))
    except (ValueError, KeyError, TypeError) as error:
        _warn(f"{name}: delivery {number} is broken ({error!r}): left out")
        return None


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
    result: str = DeliveryOutcome.STARTED
    message: str = ""
    begun: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))
    ended: str | None = None
    number: str = field(default_factory=lambda: uuid4().hex[:8])

    def end(self, result: str, message: str = "") -> "Event":
        """Return the event as it has ended now."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        return replace(self, result=result, message=message, ended=now)

    @property
    def name(self) -> str:
        """Return the name of its objects, without the folder and what follows."""
        return f"{datetime.fromisoformat(self.begun):%Y%m%dT%H%M%S.%fZ}-{self.number}"

    def began_as(self, begun: "Event") -> bool:
        """Whether `begun` is this event before it ended."""
        return replace(self, result=begun.result, message=begun.message, ended=None) == begun


def write(s3: "S3Client", bucket: str, event: Event) -> None:
    """Write an event as it is now; what is there is never written over."""
    s3.put_object(
        Bucket=bucket,
        Key=f"{FOLDER}{event.name}{ENDED if event.ended else BEGUN}",
        Body=json.dumps(asdict(event), indent=1).encode(),
        ContentType="application/json",
        IfNoneMatch="*",
    )


def read(s3: "S3Client", bucket: str, *, latest: int | None = None) -> Iterator[Event]:
    """Yield events, the newest first: all, or the `latest`; broken objects are left out, and named.

    An end that is not that of the event as it began was written by somebody else.
    """
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=FOLDER)
    keys = {listed["Key"] for page in pages for listed in page.get("Contents", ())}
    names = {key.removesuffix(ENDED).removesuffix(BEGUN) for key in keys}

    def stored(key: str) -> Event | None:
        if key not in keys:
            return None
        content = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        event = _event(content)
        if event is None or not key.startswith(f"{FOLDER}{event.name}."):
            _warn(f"s3://{bucket}/{key} is not an event of this stage: left out")
            return None
        return event

    def events() -> Iterator[Event]:
        for name in sorted(names, reverse=True):
            begun, ended = stored(name + BEGUN), stored(name + ENDED)
            if begun and ended and not ended.began_as(begun):
                _warn(f"s3://{bucket}/{name}{ENDED} is not the end of {name}{BEGUN}: left out")
                ended = None
            if event := ended or begun:
                yield event

    return islice(events(), latest)


def _event(content: bytes) -> Event | None:
    """Return the event that is the content of an object, None where it is something else."""
    try:
        event = Event(**json.loads(content))
        texts: tuple[object, ...] = (
            *(event.stage, event.action, event.who, event.result, event.message, event.number),
            *event.versions,
            *event.versions.values(),
            *(value for value in (event.commit, event.ended) if value is not None),
        )
        datetime.fromisoformat(event.begun)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    return event if all(isinstance(value, str) for value in texts) else None


def _warn(text: str) -> None:
    print(f"! {text}", file=sys.stderr)  # noqa: T201
