"""When scheduled actions are due: `at(...)`, `rate(...)` and `cron(...)`.

Sources: the API reference of PutScheduledAction, and the user guide, "Scheduled scaling" and
"Schedule recurring scaling actions using cron expressions"; of what a field may have, CloudWatch
Events' user guide, "Cron expressions".
"""

import calendar
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol
from zoneinfo import ZoneInfo

MONTHS = {name.upper(): number for number, name in enumerate(calendar.month_abbr) if name}
DAYS = {it: n for n, it in enumerate(("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"), 1)}
_FIELDS = {
    "minutes": (0, 59, {}),
    "hours": (0, 23, {}),
    "days": (1, 31, {}),
    "months": (1, 12, MONTHS),
    "weekdays": (1, 7, DAYS),
    "years": (1970, 2199, {}),
}
_UNITS = {"minute": 60, "hour": 3600, "day": 86400}
_AT = re.compile(r"at\((\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\)")
_RATE = re.compile(r"rate\(([1-9]\d*) (minute|hour|day)s?\)")
_CRON = re.compile(r"cron\((.*)\)")
_PART = re.compile(r"(?:\*|(\w+)(?:-(\w+))?)(?:/(\d+))?")

MOST_MINUTES = 24 * 60
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

    A minute that a change of the clocks leaves out is never, one that it repeats is due twice: no
    source was found.
    """

    minutes: frozenset[int]
    hours: frozenset[int]
    days: str
    months: frozenset[int]
    weekdays: str
    years: frozenset[int]
    zone: ZoneInfo

    def is_due(self, after: float, until: float) -> bool:
        """Whether a minute that matches begins in between."""
        first, last = math.floor(after / 60) + 1, math.floor(until / 60)
        minutes = range(max(first, last - MOST_MINUTES), last + 1)
        return any(self._matches(datetime.fromtimestamp(it * 60, self.zone)) for it in minutes)

    def _matches(self, moment: datetime) -> bool:
        return (
            moment.minute in self.minutes
            and moment.hour in self.hours
            and moment.month in self.months
            and moment.year in self.years
            and (self.days == "?" or moment.day in _days(self.days, moment))
            and (self.weekdays == "?" or moment.day in _weekdays(self.weekdays, moment))
        )


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
    """Return a calendar of six fields; seven begin with seconds, which no action keeps to."""
    if len(fields) == len(_FIELDS) + 1:
        fields = fields[1:]
    if len(fields) != len(_FIELDS):
        raise ValueError(f"a cron expression has 6 fields, and not {len(fields)}")
    by_name = dict(zip(_FIELDS, fields, strict=True))
    days, weekdays = by_name["days"], by_name["weekdays"]
    _check_days(days)
    _check_weekdays(weekdays)
    if (days == "?") is (weekdays == "?") and "*" not in (days, weekdays):
        raise ValueError("write ? as the day of the month or as the day of the week")
    return Cron(
        minutes=_numbers("minutes", by_name["minutes"]),
        hours=_numbers("hours", by_name["hours"]),
        days=days,
        months=_numbers("months", by_name["months"]),
        weekdays=weekdays,
        years=_numbers("years", by_name["years"]),
        zone=zone,
    )


def _numbers(name: str, field: str) -> frozenset[int]:
    return frozenset(it for part in field.split(",") for it in _part(name, part))


def _part(name: str, part: str) -> Iterator[int]:
    least, most, words = _FIELDS[name]
    match = _PART.fullmatch(part)
    if match is None:
        raise ValueError(f"{part!r} is not a value of the field of {name}")
    first, last, step = match.groups()

    def number(text: str) -> int:
        found = words.get(text.upper(), text)
        value = int(found) if str(found).isdigit() else -1
        if not least <= value <= most:
            raise ValueError(f"{text!r} is not a value of the field of {name}")
        return value

    begin = least if first is None else number(first)
    end = number(last) if last else (begin if first is not None and not step else most)
    if end < begin and name == "weekdays":  # FRI-MON
        yield from range(begin, most + 1)
        begin = least
    yield from range(begin, end + 1, int(step or 1))


def _check_days(field: str) -> None:
    if field not in ("?", "L", "LW") and not re.fullmatch(r"([12]?\d|3[01])W", field):
        _numbers("days", field)


def _check_weekdays(field: str) -> None:
    if field not in ("?", "L") and not re.fullmatch(r"\w+#[1-5]|\w+L", field):
        _numbers("weekdays", field)


def _days(field: str, moment: datetime) -> set[int]:
    """Return the days of a month that a field names: L is the last, W the nearest working day."""
    last = calendar.monthrange(moment.year, moment.month)[1]
    if field == "L":
        return {last}
    if field.endswith("W"):
        return {_working_day(moment, last if field == "LW" else int(field[:-1]), last)}
    return set(_numbers("days", field))


def _working_day(moment: datetime, day: int, last: int) -> int:
    weekday = moment.replace(day=min(day, last)).weekday()
    day = min(day, last)
    if weekday == calendar.SATURDAY:
        return day - 1 if day > 1 else day + 2
    if weekday == calendar.SUNDAY:
        return day + 1 if day < last else day - 2
    return day


def _weekdays(field: str, moment: datetime) -> set[int]:
    """Return the days of a month that fall on a field's: 3#2 is its second Tuesday, 6L its last
    Friday, L Saturdays."""
    last = calendar.monthrange(moment.year, moment.month)[1]
    days = range(1, last + 1)
    if field == "L":
        return {day for day in days if _weekday(moment, day) == DAYS["SAT"]}
    name, hash_, number = field.partition("#")
    if hash_ or (field.endswith("L") and field.upper() not in DAYS):
        (weekday,) = _numbers("weekdays", name.removesuffix("L") if not hash_ else name)
        found = [day for day in days if _weekday(moment, day) == weekday]
        if not hash_:
            return {found[-1]}
        return set(found[int(number) - 1 : int(number)])
    wanted = _numbers("weekdays", field)
    return {day for day in days if _weekday(moment, day) in wanted}


def _weekday(moment: datetime, day: int) -> int:
    return (moment.replace(day=day).isoweekday() % 7) + 1
