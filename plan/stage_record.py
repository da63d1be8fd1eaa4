"""The record of a stage: its deliveries and model changes, with caller, time and result.

The SSM parameter `/triton/STAGE/delivered` has the latest deliveries: the commits to roll back to,
and a delivery in progress. It is overwritten.

The folder `history/` of the stage's model bucket has two objects for every event: one written at
its start, one at its end. They are never overwritten. A parameter would be too small (4 KB) for the
versions of a stage's models (240 on an endpoint), and keeps only 100 versions (Systems Manager user
guide, "Working with parameter versions").
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

from platform_facts.rules.catalog import deliveries_name

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_ssm import SSMClient

FOLDER = "history/"
START_SUFFIX, END_SUFFIX = ".json", ".ended.json"
MAX_DURATION = timedelta(hours=6)
"""A delivery that is `started` for longer was killed: no job and no session of the deploy role
lasts longer (`stacks/time_budget.py`)."""


class BrokenRecord(Exception):
    """The parameter does not contain a list of deliveries."""


class DeliveryOutcome(StrEnum):
    """The outcome of a delivery.

    `STARTED`: in progress, or killed. `UNFINISHED`: ended while AWS was still changing the stage,
    or in an unknown state.
    """

    STARTED = "started"
    DELIVERED = "delivered"
    FAILED = "failed"
    WRONG = "wrong"
    UNFINISHED = "unfinished"
    ROLLED_BACK = "rolled back"


@dataclass(frozen=True)
class Delivery:
    """The delivery of a release to the stage; `time` is its start in UTC.

    `release` is a digest, empty in records of earlier versions, which deployed commits.
    """

    commit: str
    time: str
    outcome: DeliveryOutcome
    release: str = ""

    @property
    def identity(self) -> str:
        """What was deployed: the release, or the commit in records of earlier versions."""
        return self.release or self.commit

    @property
    def name(self) -> str:
        """The first characters of release and commit, for messages."""
        commit = f"commit {self.commit[:12]}"
        return f"release {self.release[:12]} ({commit})" if self.release else commit

    def is_same_delivery(self, other: "Delivery") -> bool:
        """Return whether both are the same delivery; outcomes may differ."""
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
        return self.entries[-1] if age < MAX_DURATION else None


def read_deliveries(ssm: "SSMClient", stage: str) -> Deliveries:
    """Return the latest deliveries of a stage; warn about invalid entries and skip them.

    Raise `BrokenRecord` if the parameter does not contain a list of deliveries.
    """
    name = deliveries_name(stage)
    try:
        parameter = ssm.get_parameter(Name=name)["Parameter"]
    except ssm.exceptions.ParameterNotFound:
        return Deliveries()
    try:
        contents = list(json.loads(parameter["Value"])["deliveries"])
    except (ValueError, KeyError, TypeError):
        raise BrokenRecord(
            f"{name} is not a list of deliveries: somebody has overwritten it. Restore one of its "
            f"earlier values: aws ssm get-parameter-history --name {name}"
        ) from None
    entries = (_delivery(name, number, content) for number, content in enumerate(contents, 1))
    return Deliveries(tuple(entry for entry in entries if entry))


def _delivery(name: str, number: int, content: Any) -> Delivery | None:
    try:
        commit, time = content["commit"], content["time"]
        datetime.now(UTC) - datetime.fromisoformat(time)  # TypeError if the time has no zone
        outcome = DeliveryOutcome(content["outcome"])
        return Delivery(str(commit), time, outcome, str(content.get("release", "")))
    except (ValueError, KeyError, TypeError) as error:
        _warn(f"{name}: delivery {number} is invalid ({error!r}): ignored")
        return None


@dataclass(frozen=True, kw_only=True)
class Event:
    """A change of a stage: a delivery, or a command for one model.

    `versions` maps `endpoint/model` to the version in the commit, or of the command. `release` is
    the digest of a delivered release, and `stacks` maps each stack to a digest of the template that
    the delivery left: another template was deployed by hand. `who` is the caller's ARN. Times are
    ISO 8601 in UTC; `ended` is None while the event is in progress, or if its process was killed.
    """

    stage: str
    action: str
    who: str
    versions: dict[str, str]
    commit: str | None = None
    release: str | None = None
    stacks: dict[str, str] = field(default_factory=dict)
    result: str = DeliveryOutcome.STARTED
    message: str = ""
    begun: str = field(default_factory=lambda: datetime.now(UTC).isoformat(timespec="milliseconds"))
    ended: str | None = None
    number: str = field(default_factory=lambda: uuid4().hex[:8])

    def end(self, result: str, message: str = "") -> "Event":
        """Return the event with its result and the current time as its end."""
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        return replace(self, result=result, message=message, ended=now)

    @property
    def name(self) -> str:
        """The name of its objects, without the folder and the suffix."""
        return f"{datetime.fromisoformat(self.begun):%Y%m%dT%H%M%S.%fZ}-{self.number}"

    def is_end_of(self, start: "Event") -> bool:
        """Return whether `start` is this event before it ended."""
        result, message, stacks = start.result, start.message, start.stacks
        return replace(self, result=result, message=message, stacks=stacks, ended=None) == start


def write(s3: "S3Client", bucket: str, event: Event) -> None:
    """Write the event's start, or its end, to a new object; no object is overwritten."""
    s3.put_object(
        Bucket=bucket,
        Key=f"{FOLDER}{event.name}{END_SUFFIX if event.ended else START_SUFFIX}",
        Body=json.dumps(asdict(event), indent=1).encode(),
        ContentType="application/json",
        IfNoneMatch="*",
    )


def read(s3: "S3Client", bucket: str, *, latest: int | None = None) -> Iterator[Event]:
    """Yield all events, or the `latest` ones, the newest first; warn about invalid objects.

    An end that does not match the event's start was not written by its process, and is ignored.
    """
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=FOLDER)
    keys = {entry["Key"] for page in pages for entry in page.get("Contents", ())}
    names = {key.removesuffix(END_SUFFIX).removesuffix(START_SUFFIX) for key in keys}

    def load(key: str) -> Event | None:
        if key not in keys:
            return None
        content = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        event = _event(content)
        if event is None or not key.startswith(f"{FOLDER}{event.name}."):
            _warn(f"s3://{bucket}/{key} is not an event of this stage: ignored")
            return None
        return event

    def events() -> Iterator[Event]:
        for name in sorted(names, reverse=True):
            start, end = load(name + START_SUFFIX), load(name + END_SUFFIX)
            if start and end and not end.is_end_of(start):
                path = f"s3://{bucket}/{name}{END_SUFFIX}"
                _warn(f"{path} is not the end of {name}{START_SUFFIX}: ignored")
                end = None
            if event := end or start:
                yield event

    return islice(events(), latest)


def _event(content: bytes) -> Event | None:
    """Return the event in an object's content, None if the content is no event."""
    try:
        event = Event(**json.loads(content))
        texts: tuple[object, ...] = (
            *(event.stage, event.action, event.who, event.result, event.message, event.number),
            *event.versions,
            *event.versions.values(),
            *event.stacks,
            *event.stacks.values(),
            *(value for value in (event.commit, event.release, event.ended) if value is not None),
        )
        datetime.fromisoformat(event.begun)
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    return event if all(isinstance(value, str) for value in texts) else None


def _warn(text: str) -> None:
    print(f"! {text}", file=sys.stderr)  # noqa: T201
