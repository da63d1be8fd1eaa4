"""Schedules and time zones of Application Auto Scaling, and errors of invalid ones."""

import pytest

from platform_facts.rules.schedules import check_schedule, check_time_zone


@pytest.mark.parametrize(
    "text",
    [
        "cron(0 20 ? * MON-FRI *)",
        "cron(30 6 ? * mon *)",
        "rate(1 minute)",
        "rate(12 hours)",
        "at(2027-01-31T08:00:00)",
    ],
)
def test_documented_schedule_forms_are_valid(text: str) -> None:
    assert check_schedule(text) == []


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 20 * * *", "is not a schedule: write cron(0 8 ? * MON-FRI *), rate(12 hours) or at("),
        ("cron(0 20 * * *)", "Write minutes, hours, day of month, month, day of week and year"),
        ("cron(0 20 * * * *)", "with ? for one of the days: cron(0 8 ? * MON-FRI *)"),
        ("cron(0 24 ? * MON *)", "Invalid hour value '24'. Write"),
        ("cron(\u0665 8 ? * MON *)", "is not a schedule"),
        ("rate(0 days)", "write a number from 1 to 2147483647 and minutes, hours or days"),
        ("rate(2147483648 days)", "write a number from 1 to 2147483647 and"),
        ("at(2027-02-30T08:00:00)", "write a date and a time: at(2027-01-31T08:00:00)"),
    ],
)  # fmt: skip
def test_invalid_schedule_error_has_a_fix(text: str, message: str) -> None:
    (problem,) = check_schedule(text)
    assert message in problem.message


@pytest.mark.parametrize("name", ["UTC", "GMT", "Pacific/Tahiti", "Etc/GMT+9", "Europe/Amsterdam"])
def test_canonical_time_zones_are_valid(name: str) -> None:
    assert check_time_zone(name) == []


@pytest.mark.parametrize(
    ("name", "close"),
    [
        ("Pacific/Tahitii", "Pacific/Tahiti"),
        ("home", "Europe/Berlin"),
        *((name, "") for name in ("localtime", "Factory", "posixrules", "EST", "US/Eastern",
          "utc")),
    ],
)  # fmt: skip
def test_other_time_zone_names_are_invalid(name: str, close: str) -> None:
    message = f"{name!r} is not a canonical IANA time zone: write UTC, or a name such as {close}"
    (problem,) = check_time_zone(name)
    assert message in problem.message
