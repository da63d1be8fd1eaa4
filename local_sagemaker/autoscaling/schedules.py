"""Due times of scheduled actions: `at(...)`, `rate(...)` and `cron(...)`.

Sources: the API reference of PutScheduledAction, and the user guide, "Scheduled scaling" and
"Schedule recurring scaling actions using cron expressions". The syntax of cron fields is that of
EventBridge's user guide, "Cron expressions", which aws-croniter implements.
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

MAX_LOOKBACK_SECONDS = 24 * 3600
"""Maximum age of a cron time: times that were missed because the machine slept are skipped."""

Schedule = Callable[[float, float], bool]
"""A function that returns whether an action is due between two times, in Unix seconds."""


def parse(expression: str, *, zone: str = "UTC", since: float, speed: float) -> Schedule:
    """Return the schedule of an expression. Raise `ValueError`.

    Intervals of `rate` begin at `since` and are divided by `speed`; `at` and `cron` are calendar
    times, which are not accelerated.
    """
    try:
        zone_info = ZoneInfo(zone)
    except (KeyError, OSError, ValueError):
        raise ValueError(f"{zone!r} is not a time zone") from None
    if match := _AT.fullmatch(expression):
        due_time = datetime.fromisoformat(match[1]).replace(tzinfo=zone_info).timestamp()
        return lambda after, until: after < due_time <= until
    if match := _RATE.fullmatch(expression):
        period = int(match[1]) * _SECONDS[match[2]] / speed
        return lambda after, until: (until - since) // period > max(0, (after - since) // period)
    if match := _CRON.fullmatch(expression):
        return _recurring(_calendar(match[1].split()), zone_info)
    raise ValueError(f"{expression!r}: expected at(...), rate(...) or cron(...)")


def _recurring(calendar: AwsCroniter, zone: ZoneInfo) -> Schedule:
    """Return the schedule of a cron calendar in the local time of a zone.

    At a daylight saving change, a skipped minute is due after the change, and a repeated minute is
    due twice; no source was found for AWS's behaviour.
    """

    def to_local_time(seconds: float) -> datetime:
        return datetime.fromtimestamp(seconds, zone).replace(tzinfo=UTC)  # aws-croniter needs UTC

    def is_due(after: float, until: float) -> bool:
        since = to_local_time(max(after, until - MAX_LOOKBACK_SECONDS))
        next_time = calendar.occurrence(since).next()
        return next_time is not None and next_time <= to_local_time(until)

    return is_due


def _calendar(fields: list[str]) -> AwsCroniter:
    """Return the calendar of the six cron fields. Raise `ValueError`."""
    if len(fields) != 6:
        raise ValueError(f"a cron expression needs 6 fields, but the expression has {len(fields)}")
    day, weekday = fields[2].upper(), fields[4].upper()
    if day == "*" and weekday not in ("*", "?"):  # as in the user guide's 30 6 * * 2 *
        fields[2] = "?"
    if weekday == "*" and day != "?":
        fields[4] = "?"
    if weekday == "L":  # "the last day of the month or week"
        fields[4] = "SAT"
    if day == "LW":
        raise ValueError("the local SageMaker does not support LW")
    try:
        return AwsCroniter(" ".join(fields))
    except (AwsCroniterExpressionError, ValueError) as error:
        raise ValueError(str(error)) from None
