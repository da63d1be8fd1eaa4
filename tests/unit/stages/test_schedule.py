"""Which schedules Application Auto Scaling takes, and what the others are told."""

import re
import zoneinfo

import pytest

from stages.schema.schedule import expression, time_zone


@pytest.mark.parametrize(
    "text",
    [
        "cron(0 20 ? * MON-FRI *)",
        "cron(30 6 ? * mon *)",
        "cron(0/15 8-18 ? JAN,MAR 2-6 2027-2030)",
        "cron(*/5 * L * ? *)",
        "cron(0 10 15W * ? *)",
        "cron(0 10 ? * 6#3 *)",
        "cron(0 10 ? * FRI#1 2199)",
        "rate(1 minute)",
        "rate(12 hours)",
        "at(2027-01-31T08:00:00)",
    ],
)
def test_a_schedule_of_the_documented_forms_is_taken(text: str) -> None:
    assert expression(text) == text


CRON = "write ? for the day of month or for the day of week, whichever the other decides: "


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("0 20 * * *", "is no schedule: write cron(0 8 ? * MON-FRI *), rate(12 hours) or at("),
        (
            "cron(0 20 * * *)",
            "5 fields, and not six: minutes, hours, day of month, month, day of week, year",
        ),
        ("cron(0 20 * * * *)", CRON),
        ("cron(0 20 ? * ? *)", CRON),
        ("cron(60 20 ? * MON *)", "'60' is no minutes: write 0 to 59, or *"),
        ("cron(0 24 ? * MON *)", "'24' is no hours: write 0 to 23, or *"),
        ("cron(0 8 0 * ? *)", "'0' is no day of month: write 1 to 31, or *"),
        ("cron(0 8 ? 13 MON *)", "'13' is no month: write 1 to 12 or JAN to DEC, or *"),
        ("cron(0 8 ? * 0 *)", "'0' is no day of week: write 1 to 7 or SUN to SAT, or *"),
        ("cron(0 8 ? * MON 1969)", "'1969' is no year: write 1970 to 2199, or *"),
        ("cron(0,,5 8 ? * MON *)", "'0,,5' is no minutes"),
        ("cron(0/0 8 ? * MON *)", "'0/0' is no minutes"),
        ("cron(0 8- ? * MON *)", "'8-' is no hours"),
        ("rate(0 days)", "write a number above 0 and minutes, hours or days"),
        ("rate(2 weeks)", "write a number above 0 and minutes, hours or days"),
        ("at(2027-02-30T08:00:00)", "write a date and a time: at(2027-01-31T08:00:00)"),
    ],
)
def test_what_is_none_is_told_what_to_write(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        expression(text)


def test_a_time_zone_is_one_that_this_machine_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zoneinfo, "available_timezones", lambda: {"UTC", "Pacific/Tahiti"})
    assert time_zone("Pacific/Tahiti") == "Pacific/Tahiti"
    with pytest.raises(ValueError, match="write UTC, or a name such as Pacific/Tahiti"):
        time_zone("Pacific/Tahitii")
    with pytest.raises(ValueError, match="such as Europe/Berlin"):
        time_zone("home")


def test_a_machine_without_time_zones_takes_any(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zoneinfo, "available_timezones", set)
    assert time_zone("Pacific/Tahiti") == "Pacific/Tahiti"
