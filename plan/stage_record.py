"""The record of a stage: its deliveries and model changes, with caller, time and result.

The folder `history/` of the stage's model bucket has two objects for every event: one written at
its start, one at its end. They are never overwritten. Their names begin with the time of the start
and end with the action: deliveries are found without reading the other events, and a caller may be
allowed to record only some actions.
"""

import json
import re
import sys
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, Self
from uuid import uuid4

from platform_facts.rules.bucket_keys import HISTORY

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

NAME = re.compile(r"[\dTZ.]+-[0-9a-f]{8}-[a-z-]+")
"""The form of `Event.name`. One with a slash could be below a folder that a publisher may write."""
START_SUFFIX, END_SUFFIX = ".json", ".ended.json"
DELIVER, ROLLBACK = "deliver", "rollback-stage"
"""The actions of deliveries."""
MAX_RELEASES = 10
"""Number of the latest delivered releases that a stage can be rolled back to."""
MAX_DURATION = timedelta(hours=6)
"""A delivery that is `started` for longer was killed: no job and no session of the deploy role
lasts longer (`stages/time_budget.py`)."""


class DeliveryOutcome(StrEnum):
    """The result of a delivery.

    `STARTED`: in progress, or killed. `UNFINISHED`: ended while AWS was still changing the stage,
    or in an unknown state.
    """

    STARTED = "started"
    DELIVERED = "delivered"
    FAILED = "failed"
    WRONG = "wrong"
    CHANGED_BY_HAND = "changed by hand"
    UNFINISHED = "unfinished"


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
        time = datetime.fromisoformat(self.begun)
        return f"{time:%Y%m%dT%H%M%S.%fZ}-{self.number}-{self.action}"

    @property
    def release_name(self) -> str:
        """The first characters of release and commit, for messages."""
        return f"release {(self.release or '')[:12]} (commit {(self.commit or '')[:12]})"

    def is_end_of(self, start: "Event") -> bool:
        """Return whether `start` is this event before it ended."""
        result, message, stacks = start.result, start.message, start.stacks
        return replace(self, result=result, message=message, stacks=stacks, ended=None) == start


@dataclass(frozen=True)
class Deliveries:
    """The latest deliveries of a stage, the newest last."""

    entries: tuple[Event, ...] = ()

    @classmethod
    def read(cls, s3: "S3Client", bucket: str) -> Self:
        """Return the deliveries of the last `MAX_RELEASES` releases, and those after them."""
        entries, releases = list[Event](), set[str | None]()
        for event in read(s3, bucket, actions=(DELIVER, ROLLBACK)):
            entries.append(event)
            if event.result == DeliveryOutcome.DELIVERED:
                releases.add(event.release)
            if len(releases) == MAX_RELEASES:
                break
        return cls(tuple(reversed(entries)))

    def in_progress(self) -> Event | None:
        """Return the delivery that is in progress, or was killed within the last hours."""
        if not self.entries or self.entries[-1].result != DeliveryOutcome.STARTED:
            return None
        age = datetime.now(UTC) - datetime.fromisoformat(self.entries[-1].begun)
        return self.entries[-1] if age < MAX_DURATION else None

    def remaining(self) -> list[Event]:
        """Return the deliveries without those that failed, and those that a rollback undid.

        Failed deliveries changed nothing, or were rolled back by CloudFormation. The last of the
        others is live.
        """
        remaining = list[Event]()
        for event in self.entries:
            if event.result == DeliveryOutcome.FAILED:
                continue
            target = event.release, DeliveryOutcome.DELIVERED
            while event.action == ROLLBACK and remaining:
                if (remaining[-1].release, remaining[-1].result) == target:
                    break
                remaining.pop()
            remaining.append(event)
        return remaining

    def live(self) -> Event | None:
        """Return the newest delivery whose release may be in service, None if there is none."""
        return next(reversed(self.remaining()), None)


def write(s3: "S3Client", bucket: str, event: Event) -> None:
    """Write the event's start, or its end, to a new object; no object is overwritten."""
    s3.put_object(
        Bucket=bucket,
        Key=f"{HISTORY}{event.name}{END_SUFFIX if event.ended else START_SUFFIX}",
        Body=json.dumps(asdict(event), indent=1).encode(),
        ContentType="application/json",
        IfNoneMatch="*",
    )


def read(
    s3: "S3Client", bucket: str, *, actions: Collection[str] = (), latest: int | None = None
) -> Iterator[Event]:
    """Yield the events of `actions`, or all events, the newest first; at most the `latest` ones.

    Warn about invalid objects. An end that does not match the event's start was not written by its
    process, and is ignored.
    """
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=HISTORY)
    keys = {entry["Key"] for page in pages for entry in page.get("Contents", ())}
    names = {key.removesuffix(END_SUFFIX).removesuffix(START_SUFFIX) for key in keys}
    suffixes = tuple(f"-{action}" for action in actions)

    def load(key: str) -> Event | None:
        if key not in keys:
            return None
        content = s3.get_object(Bucket=bucket, Key=key)["Body"].read()
        event = _event(content)
        if event is None or not key.startswith(f"{HISTORY}{event.name}."):
            _warn(f"s3://{bucket}/{key} is not an event of this stage: ignored")
            return None
        return event

    def events() -> Iterator[Event]:
        for name in sorted(names, reverse=True):
            if suffixes and not name.endswith(suffixes):
                continue
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
        has_zone = datetime.fromisoformat(event.begun).tzinfo is not None
    except (ValueError, TypeError, AttributeError, RecursionError):
        return None
    is_valid = has_zone and all(isinstance(value, str) for value in texts)
    return event if is_valid and NAME.fullmatch(event.name) else None


def _warn(text: str) -> None:
    print(f"! {text}", file=sys.stderr)  # noqa: T201
