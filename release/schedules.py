"""The minimum and maximum capacity of a scalable target over a week, with scheduled actions.

Cron and rate expressions with a period of at most a week repeat every week (Application Auto
Scaling user guide, scheduled-scaling-using-cron-expressions). An action with a day of the month, a
month or `at` may run on any day: its limits may apply for a whole week.
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
    """Return the limits of a scalable target over a week in which all its actions run."""
    current_limits = (int(target["MinCapacity"]), int(target["MaxCapacity"]))
    actions = target.get("ScheduledActions", ())
    runs = sorted(
        (time, index) for index, action in enumerate(actions) for time in _weekly_runs(action)
    )
    for _, index in runs:  # the week begins with the limits that the previous week ended with
        current_limits = _apply(actions[index], current_limits)
    spans = [] if runs else [(current_limits, WEEK)]
    ends = [*(time for time, _ in runs[1:]), *(time + WEEK for time, _ in runs[:1])]
    for (time, index), end in zip(runs, ends, strict=True):
        current_limits = _apply(actions[index], current_limits)
        spans.append((current_limits, end - time))
    rare_actions = [action for action in actions if not any(_weekly_runs(action))]
    all_limits = [limits for limits, _ in spans]
    all_limits += [_apply(action, limits) for action in rare_actions for limits, _ in spans]
    means = (
        round(sum(limits[index] * (span / WEEK) for limits, span in spans), 6) for index in (0, 1)
    )
    minimum, maximum = min(low for low, _ in all_limits), max(high for _, high in all_limits)
    return WeeklyLimits(minimum, maximum, *means)


def _apply(action: Mapping[str, Any], limits: tuple[int, int]) -> tuple[int, int]:
    """Return the limits after an action, which keeps a limit that it does not set."""
    new = action.get("ScalableTargetAction", {})
    low, high = int(new.get("MinCapacity", limits[0])), int(new.get("MaxCapacity", limits[1]))
    return low, max(low, high)


def _weekly_runs(action: Mapping[str, Any]) -> list[datetime]:
    """Return the times at which an action runs in a week; none if it does not run every week."""
    match = re.fullmatch(r"(cron|rate)\((.*)\)", str(action.get("Schedule")))
    try:
        if match and match[1] == "rate":
            return list(_rate_runs(match[2]))
        zone = ZoneInfo(str(action.get("Timezone", "UTC")))
        return list(_cron_runs(match[2], zone)) if match else []
    except (KeyError, ValueError, ZoneInfoNotFoundError):  # the service rejects the expression
        return []


def _rate_runs(rate: str) -> Iterator[datetime]:
    number, _, unit = rate.partition(" ")
    step = int(number) * UNITS[unit.removesuffix("s")]
    if step <= WEEK:
        yield from (MONDAY + step * count for count in range(WEEK // step))


def _cron_runs(cron: str, zone: ZoneInfo) -> Iterator[datetime]:
    minutes, hours, day, month, weekday, _ = cron.split()
    if (day, month) not in {("?", "*"), ("*", "*")} or re.search("[L#]", weekday.upper()):
        return
    for offset in range(7):
        date = MONDAY + timedelta(days=offset)
        if (date.isoweekday() % 7) + 1 in _field_values(weekday, 1, 7):
            for hour, minute in product(_field_values(hours, 0, 23), _field_values(minutes, 0, 59)):
                local = datetime(date.year, date.month, date.day, hour, minute, tzinfo=zone)
                yield MONDAY + (local.astimezone(MONDAY.tzinfo) - MONDAY) % WEEK


def _field_values(text: str, minimum: int, maximum: int) -> Iterable[int]:
    """Return the values of a cron field: numbers, names of days, ranges and steps."""
    values: set[int] = set()
    for part in text.upper().split(","):
        span, _, step = part.partition("/")
        first, dash, last = span.partition("-")
        low = minimum if first in ("*", "?") else _number(first)
        high = _number(last) if dash else maximum if step or first in ("*", "?") else low
        if low <= high:
            values.update(range(low, high + 1, int(step or 1)))
        else:  # FRI-MON
            values.update({*range(low, maximum + 1), *range(minimum, high + 1)})
    return sorted(values)


def _number(text: str) -> int:
    """Return the number of a weekday's name or of digits."""
    return DAYS.index(text) + 1 if text in DAYS else int(text)
