"""When schedules are due."""

from datetime import UTC, datetime

import pytest

from local_sagemaker.autoscaling.schedules import MOST_SECONDS, parse


def at(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def due(expression: str, text: str, zone: str = "UTC") -> bool:
    """Whether an expression is due in the minute that begins then."""
    moment = at(text)
    return parse(expression, zone=zone, since=0, speed=1)(moment - 1, moment + 59)


@pytest.mark.parametrize(
    ("expression", "times", "others"),
    [
        ("cron(0 18 ? * MON-FRI *)", ["2027-01-04T18:00", "2027-01-08T18:00"],
         ["2027-01-09T18:00", "2027-01-10T18:00"]),
        ("cron(30 6 * * 2 *)", ["2027-01-04T06:30"], ["2027-01-05T06:30"]),  # the user guide's
        ("cron(0 0 1 1 * *)", ["2027-01-01T00:00"], ["2027-01-02T00:00"]),
        ("cron(0 0 ? * L *)", ["2027-01-09T00:00"], ["2027-01-10T00:00"]),
        ("at(2027-01-04T10:00:00)", ["2027-01-04T10:00"], ["2027-01-04T10:01"]),
    ],
)  # fmt: skip
def test_calendars(expression: str, times: list[str], others: list[str]) -> None:
    assert [time for time in times + others if due(expression, time)] == times


def test_a_calendar_has_a_time_zone_with_its_summer() -> None:
    every_morning = "cron(0 8 * * ? *)"
    assert due(every_morning, "2027-01-04T07:00", zone="Europe/Berlin")
    assert due(every_morning, "2027-07-05T06:00", zone="Europe/Berlin")
    assert due("at(2027-07-05T08:00:00)", "2027-07-05T06:00", zone="Europe/Berlin")


def test_a_moment_that_two_looks_meet_in_is_due_once() -> None:
    moment = at("2027-01-04T10:00")
    for expression in ("at(2027-01-04T10:00:00)", "cron(0 10 4 1 ? 2027)"):
        schedule = parse(expression, since=0, speed=1)
        looks = (moment - 10, moment), (moment, moment + 10)
        assert [schedule(*look) for look in looks] == [True, False]


def test_what_was_slept_over_is_due_once_and_not_days_later() -> None:
    schedule = parse("cron(0 8 * * ? *)", since=0, speed=1)
    morning = at("2027-01-04T08:00")
    assert schedule(morning - 3600, morning + 3600)
    assert not schedule(morning, morning + 3600)
    once = parse("cron(0 8 4 1 ? 2027)", since=0, speed=1)
    assert not once(morning - 60, morning + MOST_SECONDS + 60)  # fmt: skip


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ("tomorrow", "is not at"),
        ("rate(1 week)", "is not at"),
        ("at(2027-01-04)", "is not at"),
        ("cron(0 8 * *)", "6 fields, and not 4"),
        ("cron(0 8 * 13 ? *)", "Invalid month value '13'"),
        ("cron(0 8 LW * ? *)", "no LW"),
        ("cron(0 8 ? * ? *)", "Invalid combination"),
    ],
)
def test_what_is_no_schedule_is_refused(expression: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        parse(expression, since=0, speed=1)


def test_rates_count_from_their_beginning_as_fast_as_all_of_awss_time() -> None:
    schedule = parse("rate(5 minutes)", since=1000, speed=60)
    looks = ((1000, 1004), (1004, 1005), (1005, 1006), (0, 1000), (-86400, 1000))
    assert [schedule(*look) for look in looks] == [False, True, False, False, False]
