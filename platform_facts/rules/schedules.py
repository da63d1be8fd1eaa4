"""Rules about schedules: the expressions and time zones of Application Auto Scaling.

Sources: API reference of PutScheduledAction (Schedule, Timezone); the user guide's
scheduled-scaling-using-cron-expressions; for the fields of cron, "Cron expressions" in the
EventBridge user guide (eb-cron-expressions), to which that page refers and which aws-croniter
implements.
"""

import difflib
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from aws_croniter import AwsCroniter
from aws_croniter.exceptions import AwsCroniterExpressionError

from platform_facts.rules.ranges import SCALING_API
from platform_facts.rules.rule import rule

MAX_RATE = 2**31 - 1
"""Maximum of rate(...): a positive 32-bit integer. AWS documents no maximum."""

EXAMPLES = "cron(0 8 ? * MON-FRI *), rate(12 hours) or at(2027-01-31T08:00:00)"
CRON_FIELDS = "minutes, hours, day of month, month, day of week and year"

TIME_ZONES = Path(__file__).with_name("time_zones.txt")
"""One name per line: UTC, GMT, and the zones (without links) of the IANA time zone database 2025b.

AWS refers to the zones of Joda-Time, whose list was not found. The database was built with backzone
and zone.tab, so that each country has its own zones. Zones whose names have no slash (EST, Factory)
are omitted: our choice.
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
    try:
        AwsCroniter(body.upper())
    except (AwsCroniterExpressionError, ValueError) as error:
        yield f"{error} Write {CRON_FIELDS}, with ? for one of the days: cron(0 8 ? * MON-FRI *)"
