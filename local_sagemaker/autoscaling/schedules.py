"""When scheduled actions are due: `at(...)`, `rate(...)` and `cron(...)`.

Sources: the API reference of PutScheduledAction, and the user guide, "Scheduled scaling" and
"Schedule recurring scaling actions using cron expressions"; of what a field may have, EventBridge's
user guide, "Cron expressions", which aws-croniter implements.
"""

import math
import re
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Protocol
from zoneinfo import ZoneInfo

from aws_croniter import AwsCroniter
from aws_croniter.exceptions import AwsCroniterExpressionError

_UNITS = {"minute": 60, "hour": 3600, "day": 86400}
_AT = re.compile(r"at\((\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\)")
_RATE = re.compile(r"rate\(([1-9]\d*) (minute|hour|day)s?\)")
_CRON = re.compile(r"cron\((.*)\)")

MOST_SECONDS = 24 * 3600
"""That are looked back at: what was due while this machine slept longer is not made up for."""


class Schedule(Protocol):
    """When something is due."""

    def is_due(self, after: float, until: float) -> bool:
        """Whether it is, later than one time and until another, in seconds since 1970."""


@dataclass(frozen=True)
class At:
    """Once."""

    moment: float

    def is_due(self, after: float, until: float) -> bool:
        """Whether the moment is in between."""
        return after < self.moment <= until


@dataclass(frozen=True)
class Rate:
    """Every so many seconds since a time; of AWS's, so that they are shortened before."""

    since: float
    seconds: float

    def is_due(self, after: float, until: float) -> bool:
        """Whether a multiple is in between."""
        first, last = (math.floor((it - self.since) / self.seconds) for it in (after, until))
        return last > max(0, first)


@dataclass(frozen=True)
class Cron:
    """Minutes of a calendar, in a time zone.

    A minute that a change of the clocks leaves out is due when they have changed, one that it
    repeats is due twice: no source was found.
    """

    calendar: AwsCroniter
    zone: ZoneInfo

    def is_due(self, after: float, until: float) -> bool:
        """Whether a minute that matches begins in between."""
        first, last = (self._on_the_clock(it) for it in (max(after, until - MOST_SECONDS), until))
        moment = self.calendar.occurrence(first).next()
        return moment is not None and moment <= last

    def _on_the_clock(self, seconds: float) -> datetime:
        """Return the time of the zone's clocks; calendars know no zones but UTC."""
        return datetime.fromtimestamp(seconds, self.zone).replace(tzinfo=UTC)


def parse(expression: str, *, zone: str = "UTC", since: float, speed: float) -> Schedule:
    """Return when an expression is due; rates count from `since`. Raises `ValueError`.

    At a `speed`, rates pass so much faster, as all of AWS's waits do; calendars have one time.
    """
    try:
        place = ZoneInfo(zone)
    except (KeyError, OSError, ValueError):
        raise ValueError(f"{zone!r} is not a time zone") from None
    if match := _AT.fullmatch(expression):
        return At(datetime.fromisoformat(match[1]).replace(tzinfo=place).timestamp())
    if match := _RATE.fullmatch(expression):
        return Rate(since, int(match[1]) * _UNITS[match[2]] / speed)
    if match := _CRON.fullmatch(expression):
        return _cron(match[1].split(), place)
    raise ValueError(f"{expression!r} is not at(...), rate(...) or cron(...)")


def _cron(fields: list[str], zone: ZoneInfo) -> Cron:
    """Return a calendar of six fields. Raise `ValueError`."""
    if len(fields) != 6:
        raise ValueError(f"a cron expression has 6 fields, and not {len(fields)}")
    day, weekday = fields[2], fields[4]
    if day == "*" and weekday not in ("*", "?"):  # as in the user guide's 30 6 * * 2 *
        fields[2] = "?"
    if weekday == "*" and day != "?":
        fields[4] = "?"
    if weekday.upper() == "L":  # "the last day of the month or week"
        fields[4] = "SAT"
    if day.upper() == "LW":
        raise ValueError("the local SageMaker has no LW")
    try:
        return Cron(AwsCroniter(" ".join(fields)), zone)
    except (AwsCroniterExpressionError, ValueError) as error:
        raise ValueError(str(error)) from None
