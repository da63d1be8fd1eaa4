"""The limits of scaling over a week, as schedules change them."""

from typing import Any

import pytest

from release.schedules import weekly_limits


def action(schedule: str, least: int, most: int = 10, **more: Any) -> dict[str, Any]:
    new = {"MinCapacity": least, "MaxCapacity": most}
    return {"Schedule": schedule, "ScalableTargetAction": new, **more}


MORNING, EVENING = "cron(0 6 ? * * *)", "cron(0 18 ? * * *)"


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ([], (2, 10, 2, 10)),
        ([action(MORNING, 6), action(EVENING, 2)], (2, 10, 4, 10)),
        ([action(MORNING, 6)], (6, 10, 6, 10)),  # nothing lowers it again
        ([action(MORNING, 6, 20), action(EVENING, 2)], (2, 20, 4, 15)),
        # 12 hours on each of five days
        ([action("cron(0 6 ? * MON-FRI *)", 9), action(EVENING, 2)], (2, 10, 4.5, 10)),
        ([action("cron(0 6 ? * 2-6 *)", 9), action(EVENING, 2)], (2, 10, 4.5, 10)),
        ([action("cron(0 6,18 ? * * *)", 6), action("cron(0 0/12 ? * * *)", 2)], (2, 10, 4, 10)),
        ([action("rate(1 day)", 6), action("cron(0 12 ? * * *)", 2)], (2, 10, 4, 10)),
        # both are six hours later in UTC than the clock says in Chicago, in winter
        (
            [action(time, least, Timezone="America/Chicago")
             for time, least in ((MORNING, 6), (EVENING, 2))],
            (2, 10, 4, 10),
        ),
        # once, or on a day of the month: it may be the lowest of a week, and is no part of the mean
        ([action("at(2027-01-31T08:00:00)", 1)], (1, 10, 2, 10)),
        ([action("cron(0 0 1 * ? *)", 30, 30)], (2, 30, 2, 10)),
        ([action("cron(no schedule)", 6)], (2, 10, 2, 10)),
    ],
)  # fmt: skip
def test_what_a_week_has(
    actions: list[dict[str, Any]], expected: tuple[float, float, float, float]
) -> None:
    target = {"MinCapacity": 2, "MaxCapacity": 10, "ScheduledActions": actions}
    assert weekly_limits(target) == pytest.approx(expected)


def test_a_limit_that_an_action_leaves_out_stays() -> None:
    only = {"Schedule": MORNING, "ScalableTargetAction": {"MinCapacity": 6}}
    target = {"MinCapacity": 2, "MaxCapacity": 10, "ScheduledActions": [only]}
    assert weekly_limits(target)[:2] == (6, 10)


def test_a_time_zone_decides_which_of_two_schedules_lasts() -> None:
    noon = action("cron(0 12 ? * * *)", 6)
    for zone, mean in (("UTC", 4), ("Asia/Tokyo", 2.5)):
        midnight = action("cron(0 0 ? * * *)", 2, Timezone=zone)
        target = {"MinCapacity": 2, "MaxCapacity": 10, "ScheduledActions": [noon, midnight]}
        assert weekly_limits(target).mean_minimum == pytest.approx(mean)
