"""Schedule expressions and their due times."""

from datetime import UTC, datetime

import pytest

from local_sagemaker.autoscaling.schedules import MAX_LOOKBACK_SECONDS, parse


def timestamp(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def due(expression: str, text: str, zone: str = "UTC") -> bool:
    """Return whether an expression is due in the minute that starts timestamp `text`."""
    time = timestamp(text)
    return parse(expression, zone=zone, since=0, speed=1)(time - 1, time + 59)


@pytest.mark.parametrize(
    ("expression", "times", "others"),
    [
        ("cron(0 18 ? * MON-FRI *)", ["2027-01-04T18:00", "2027-01-08T18:00"],
         ["2027-01-09T18:00", "2027-01-10T18:00"]),
        ("cron(30 6 * * 2 *)", ["2027-01-04T06:30"], ["2027-01-05T06:30"]),  # from the user guide
        ("cron(0 0 1 1 * *)", ["2027-01-01T00:00"], ["2027-01-02T00:00"]),
        ("cron(0 0 ? * L *)", ["2027-01-09T00:00"], ["2027-01-10T00:00"]),
        ("at(2027-01-04T10:00:00)", ["2027-01-04T10:00"], ["2027-01-04T10:01"]),
    ],
)  # fmt: skip
def test_expression_is_due_at_its_times_only(
    expression: str, times: list[str], others: list[str]
) -> None:
    assert [time for time in times + others if due(expression, time)] == times


def test_time_zone_with_daylight_saving_time() -> None:
    every_morning = "cron(0 8 * * ? *)"
    assert due(every_morning, "2027-01-04T07:00", zone="Europe/Berlin")
    assert due(every_morning, "2027-07-05T06:00", zone="Europe/Berlin")
    assert due("at(2027-07-05T08:00:00)", "2027-07-05T06:00", zone="Europe/Berlin")


def test_time_at_an_interval_border_is_due_once() -> None:
    time = timestamp("2027-01-04T10:00")
    for expression in ("at(2027-01-04T10:00:00)", "cron(0 10 4 1 ? 2027)"):
        schedule = parse(expression, since=0, speed=1)
        intervals = (time - 10, time), (time, time + 10)
        assert [schedule(*interval) for interval in intervals] == [True, False]


def test_missed_time_is_due_once_within_the_limit() -> None:
    schedule = parse("cron(0 8 * * ? *)", since=0, speed=1)
    morning = timestamp("2027-01-04T08:00")
    assert schedule(morning - 3600, morning + 3600)
    assert not schedule(morning, morning + 3600)
    once = parse("cron(0 8 4 1 ? 2027)", since=0, speed=1)
    assert not once(morning - 60, morning + MAX_LOOKBACK_SECONDS + 60)  # fmt: skip


@pytest.mark.parametrize(
    ("expression", "fault"),
    [
        ("tomorrow", "expected at"),
        ("rate(1 week)", "expected at"),
        ("at(2027-01-04)", "expected at"),
        ("cron(0 8 * *)", "6 fields, but the expression has 4"),
        ("cron(0 8 * 13 ? *)", "Invalid month value '13'"),
        ("cron(0 8 LW * ? *)", "does not support LW"),
        ("cron(0 8 ? * ? *)", "Invalid combination"),
    ],
)
def test_invalid_schedule_is_refused(expression: str, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        parse(expression, since=0, speed=1)


def test_speed_shortens_the_interval_of_a_rate() -> None:
    schedule = parse("rate(5 minutes)", since=1000, speed=60)
    intervals = ((1000, 1004), (1004, 1005), (1005, 1006), (0, 1000), (-86400, 1000))
    assert [schedule(*interval) for interval in intervals] == [False, True, False, False, False]
