"""Rules about schedules: the expressions and time zones of Application Auto Scaling.

Sources: API reference of PutScheduledAction (Schedule, Timezone); the user guide's
scheduled-scaling-using-cron-expressions, and for the fields of cron the page that it names, cron
expressions in the EventBridge user guide (eb-cron-expressions).
"""

import difflib
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from platform_facts.rules.ranges import SCALING_API
from platform_facts.rules.rule import rule

MAX_RATE = 2**31 - 1
"""Maximum of rate(...): a positive 32-bit integer. AWS documents no maximum."""

EXAMPLES = "cron(0 8 ? * MON-FRI *), rate(12 hours) or at(2027-01-31T08:00:00)"


class _Field(NamedTuple):
    name: str
    minimum: int
    maximum: int
    words: tuple[str, ...] = ()
    special_values: str = ""


_DIGITS = re.compile("[0-9]{1,4}")
_MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
_DAYS = ("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT")
_WEEKDAY = f"([1-7]|{'|'.join(_DAYS)})"
FIELDS = (
    _Field("minutes", 0, 59),
    _Field("hours", 0, 23),
    _Field("day of month", 1, 31, special_values=r"\?|L|(0?[1-9]|[12][0-9]|3[01])W"),
    _Field("month", 1, 12, _MONTHS),
    _Field("day of week", 1, 7, _DAYS, special_values=rf"\?|{_WEEKDAY}?L|{_WEEKDAY}#[1-5]"),
    _Field("year", 1970, 2199),
)
"""The fields of a cron expression, with their ranges, names and special characters."""


TIME_ZONES = Path(__file__).with_name("time_zones.txt")
"""One name per line: UTC, GMT, and the zones (without links) of the IANA time zone database 2025b.

The database was built with backzone and zone.tab, so that each country has its own zones.
Joda-Time's list was not found. Zones whose names have no slash (EST, Factory) are omitted: our
choice.
"""


@rule("scaling.schedules.at", f"{SCALING_API}PutScheduledAction.html, Schedule")
def check_schedule(text: str) -> str | None:
    """A schedule is `cron(...)` with six fields, `rate(...)` or `at(...)`."""
    match = re.fullmatch(r"(cron|rate|at)\((.*)\)", text)
    if match is None or not text.isascii():  # AWS accepts only ASCII digits and spaces
        return f"{text!r} is not a schedule: write {EXAMPLES}"
    kind, body = match.groups()
    problem = next(
        {"cron": _cron_problems, "rate": _rate_problems, "at": _at_problems}[kind](body), None
    )
    return f"{text!r}: {problem}" if problem else None


@rule("scaling.schedules.timezone", f"{SCALING_API}PutScheduledAction.html, Timezone")
def check_time_zone(name: str) -> str | None:
    """A time zone is UTC, GMT or a canonical IANA name such as `Europe/Berlin`.

    "Valid values are the canonical names of the IANA time zones supported by Joda-Time":
    time_zones.txt has them; the time zone database of the operating system is not used.
    """
    names = TIME_ZONES.read_text(encoding="utf-8").splitlines()
    if name in names:
        return None
    close = difflib.get_close_matches(name, names, n=1)
    return (
        f"{name!r} is not a canonical IANA time zone: write UTC, or a name such as "
        f"{close[0] if close else 'Europe/Berlin'}"
    )


def _rate_problems(body: str) -> Iterator[str]:
    match = re.fullmatch(r"([0-9]{1,10}) (minute|hour|day)(s?)", body)
    if match is None or not 1 <= int(match[1]) <= MAX_RATE:
        yield f"write a number from 1 to {MAX_RATE} and minutes, hours or days: rate(12 hours)"


def _at_problems(body: str) -> Iterator[str]:
    pattern = "[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}"
    try:
        time = re.fullmatch(pattern, body) and datetime.fromisoformat(body)
    except ValueError:
        time = None
    if not time:
        yield "write a date and a time: at(2027-01-31T08:00:00)"


def _cron_problems(body: str) -> Iterator[str]:
    values = body.split()
    if len(values) != len(FIELDS):
        names = ", ".join(field.name for field in FIELDS)
        yield f"{len(values)} fields: write six: {names}"
        return
    for field, value in zip(FIELDS, values, strict=True):
        parts = value.split(",")
        if not all(_is_valid(field, part) for part in parts):
            yield f"{value!r} is not valid for {field.name}: write {_allowed_values(field)}"
        elif len(parts) > 1 and ("?" in value or "#" in value):
            yield f"{value!r} has more than one {field.name}: write ? and # alone"
    if [values[2], values[4]].count("?") != 1:
        yield (
            "write ? for the day of month or the day of week, but not for both: "
            "cron(0 8 ? * MON-FRI *)"
        )


def _is_valid(field: _Field, part: str) -> bool:
    """Return whether a value, a range or a step expression is valid for a field."""
    if part == "*" or (
        field.special_values and re.fullmatch(field.special_values, part, re.IGNORECASE)
    ):
        return True
    first, slash, step = part.partition("/")
    if slash and not (_DIGITS.fullmatch(step) and 1 <= int(step) <= field.maximum):
        return False
    if slash and first == "*":
        return True
    low, dash, high = first.partition("-")
    values = [_number(field, text) for text in ([low, high] if dash else [low])]
    return None not in values


def _number(field: _Field, text: str) -> int | None:
    if text.upper() in field.words:
        return field.words.index(text.upper()) + 1
    if _DIGITS.fullmatch(text) and field.minimum <= int(text) <= field.maximum:
        return int(text)
    return None


def _allowed_values(field: _Field) -> str:
    words = f" or {field.words[0]} to {field.words[-1]}" if field.words else ""
    return f"{field.minimum} to {field.maximum}{words}, or *"
