"""Due times of scheduled actions: `at(...)`, `rate(...)` and `cron(...)`.

Sources: the API reference of PutScheduledAction, and the user guide, "Scheduled scaling" and
"Schedule recurring scaling actions using cron expressions"; of what a field may have, EventBridge's
user guide, "Cron expressions", which aws-croniter implements.
"""

import re
from collections.abc import Callable
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from aws_croniter import AwsCroniter
from aws_croniter.exceptions import AwsCroniterExpressionError

_AT = re.compile(r"at\((\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\)")
_RATE = re.compile(r"rate\(([1-9]\d*) (minute|hour|day)s?\)")
_SECONDS = {"minute": 60, "hour": 3600, "day": 86400}
_CRON = re.compile(r"cron\((.*)\)")

MOST_SECONDS = 24 * 3600
"""That are looked back at: what was due while this machine slept longer is not made up for."""

Schedule = Callable[[float, float], bool]
"""Whether something is due, later than one time and until another, in seconds since 1970."""


def parse(expression: str, *, zone: str = "UTC", since: float, speed: float) -> Schedule:
    """Return when an expression is due; rates count from `since`. Raise `ValueError`.

    At a `speed`, rates pass so much faster, as all of AWS's waits do; calendars have one time.
    """
    try:
        place = ZoneInfo(zone)
    except (KeyError, OSError, ValueError):
        raise ValueError(f"{zone!r} is not a time zone") from None
    if match := _AT.fullmatch(expression):
        moment = datetime.fromisoformat(match[1]).replace(tzinfo=place).timestamp()
        return lambda after, until: after < moment <= until
    if match := _RATE.fullmatch(expression):
        every = int(match[1]) * _SECONDS[match[2]] / speed
        return lambda after, until: (until - since) // every > max(0, (after - since) // every)
    if match := _CRON.fullmatch(expression):
        return _recurring(_calendar(match[1].split()), place)
    raise ValueError(f"{expression!r} is not at(...), rate(...) or cron(...)")


def _recurring(calendar: AwsCroniter, zone: ZoneInfo) -> Schedule:
    """Return whether a minute of a calendar begins on the clocks of a zone.

    A minute that a change of the clocks leaves out is due when they have changed, one that it
    repeats is due twice: no source was found.
    """

    def on_the_clock(seconds: float) -> datetime:
        return datetime.fromtimestamp(seconds, zone).replace(tzinfo=UTC)  # the calendar's one zone

    def is_due(after: float, until: float) -> bool:
        since = on_the_clock(max(after, until - MOST_SECONDS))
        moment = calendar.occurrence(since).next()
        return moment is not None and moment <= on_the_clock(until)

    return is_due


def _calendar(fields: list[str]) -> AwsCroniter:
    """Return a calendar of six fields. Raise `ValueError`."""
    if len(fields) != 6:
        raise ValueError(f"a cron expression has 6 fields, and not {len(fields)}")
    day, weekday = fields[2].upper(), fields[4].upper()
    if day == "*" and weekday not in ("*", "?"):  # as in the user guide's 30 6 * * 2 *
        fields[2] = "?"
    if weekday == "*" and day != "?":
        fields[4] = "?"
    if weekday == "L":  # "the last day of the month or week"
        fields[4] = "SAT"
    if day == "LW":
        raise ValueError("the local SageMaker has no LW")
    try:
        return AwsCroniter(" ".join(fields))
    except (AwsCroniterExpressionError, ValueError) as error:
        raise ValueError(str(error)) from None
