"""The minimum and maximum capacity of a scalable target over a week, with scheduled actions.

Cron and rate expressions with a period of at most a week repeat every week (Application Auto
Scaling user guide, scheduled-scaling-using-cron-expressions). Days of the month, months and `at`
may fall on any day: the limits that such an action sets may last for a whole week.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from itertools import product
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

MONDAY = datetime(2027, 1, 4, tzinfo=ZoneInfo("UTC"))
"""The start of the week that is evaluated; every week has the same limits."""

WEEK = timedelta(days=7)
DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
UNITS = {"minute": timedelta(minutes=1), "hour": timedelta(hours=1), "day": timedelta(days=1)}


class WeeklyLimits(NamedTuple):
    """Minimum and maximum capacity, each with its mean over a week."""

    minimum: int
    maximum: int
    mean_minimum: float
    mean_maximum: float


def weekly_limits(target: Mapping[str, Any]) -> WeeklyLimits:
    """Return the limits of a scalable target over a week in which all its schedules act."""
    now = fixed = (int(target["MinCapacity"]), int(target["MaxCapacity"]))
    actions = target.get("ScheduledActions", ())
    moments = sorted((at, number) for number, value in enumerate(actions) for at in _moments(value))
    for _, number in moments:  # the week begins with the limits that the week before ended with
        now = _after(now, actions[number])
    spans = [] if moments else [(fixed, WEEK)]
    ends = [*(at for at, _ in moments[1:]), *(at + WEEK for at, _ in moments[:1])]
    for (at, number), end in zip(moments, ends, strict=True):
        now = _after(now, actions[number])
        spans.append((now, end - at))
    rare = [action for action in actions if not any(_moments(action))]
    bounds = [limits for limits, _ in spans]
    bounds += [_after(limits, action) for action in rare for limits, _ in spans]
    means = (
        round(sum(limits[side] * (span / WEEK) for limits, span in spans), 6) for side in (0, 1)
    )
    return WeeklyLimits(min(low for low, _ in bounds), max(high for _, high in bounds), *means)


def _after(limits: tuple[int, int], action: Mapping[str, Any]) -> tuple[int, int]:
    """Return the limits after an action: it keeps a limit that it does not set."""
    new = action.get("ScalableTargetAction", {})
    low, high = int(new.get("MinCapacity", limits[0])), int(new.get("MaxCapacity", limits[1]))
    return low, max(low, high)


def _moments(action: Mapping[str, Any]) -> list[datetime]:
    """Return the times at which an action runs in a week; none if it does not run every week."""
    match = re.fullmatch(r"(cron|rate)\((.*)\)", str(action.get("Schedule")))
    try:
        if match and match[1] == "rate":
            return list(_periodic(match[2]))
        zone = ZoneInfo(str(action.get("Timezone", "UTC")))
        return list(_at_times(match[2], zone)) if match else []
    except (KeyError, ValueError, ZoneInfoNotFoundError):  # the service refuses it
        return []


def _periodic(rate: str) -> Iterator[datetime]:
    number, _, unit = rate.partition(" ")
    step = int(number) * UNITS[unit.removesuffix("s")]
    if step <= WEEK:
        yield from (MONDAY + step * count for count in range(WEEK // step))


def _at_times(cron: str, zone: ZoneInfo) -> Iterator[datetime]:
    minutes, hours, day, month, weekday, _ = cron.split()
    if (day, month) not in {("?", "*"), ("*", "*")} or re.search("[L#]", weekday.upper()):
        return
    for offset in range(7):
        date = MONDAY + timedelta(days=offset)
        if (date.isoweekday() % 7) + 1 in _field(weekday, 1, 7):
            for hour, minute in product(_field(hours, 0, 23), _field(minutes, 0, 59)):
                local = datetime(date.year, date.month, date.day, hour, minute, tzinfo=zone)
                yield MONDAY + (local.astimezone(MONDAY.tzinfo) - MONDAY) % WEEK


def _field(text: str, least: int, most: int) -> Iterable[int]:
    """Return the values of a cron field: numbers, names of days, ranges and steps."""
    values: set[int] = set()
    for part in text.upper().split(","):
        span, _, step = part.partition("/")
        first, dash, last = span.partition("-")
        low = least if first in ("*", "?") else _number(first)
        high = _number(last) if dash else most if step or first in ("*", "?") else low
        if low <= high:
            values.update(range(low, high + 1, int(step or 1)))
        else:  # FRI-MON
            values.update({*range(low, most + 1), *range(least, high + 1)})
    return sorted(values)


def _number(text: str) -> int:
    return DAYS.index(text) + 1 if text in DAYS else int(text)
