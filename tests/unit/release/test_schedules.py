"""Tests of the limits of scaling over a week with scheduled actions."""

from typing import Any

import pytest

from release.schedules import weekly_limits


def action(schedule: str, low: int, high: int = 10, **options: Any) -> dict[str, Any]:
    limits = {"MinCapacity": low, "MaxCapacity": high}
    return {"Schedule": schedule, "ScalableTargetAction": limits, **options}


MORNING, EVENING = "cron(0 6 ? * * *)", "cron(0 18 ? * * *)"


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ([], (2, 10, 2, 10)),
        ([action(MORNING, 6), action(EVENING, 2)], (2, 10, 4, 10)),
        ([action(MORNING, 6)], (6, 10, 6, 10)),  # no later action lowers it
        ([action(MORNING, 6, 20), action(EVENING, 2)], (2, 20, 4, 15)),
        # 12 hours on each of five days
        ([action("cron(0 6 ? * MON-FRI *)", 9), action(EVENING, 2)], (2, 10, 4.5, 10)),
        ([action("cron(0 6 ? * 2-6 *)", 9), action(EVENING, 2)], (2, 10, 4.5, 10)),
        ([action("cron(0 6,18 ? * * *)", 6), action("cron(0 0/12 ? * * *)", 2)], (2, 10, 4, 10)),
        ([action("rate(1 day)", 6), action("cron(0 12 ? * * *)", 2)], (2, 10, 4, 10)),
        # once, or on a day of the month: it changes the limits of a week, but not their means
        ([action("at(2027-01-31T08:00:00)", 1)], (1, 10, 2, 10)),
        ([action("cron(0 0 1 * ? *)", 30, 30)], (2, 30, 2, 10)),
        ([action("cron(invalid)", 6)], (2, 10, 2, 10)),
        # an action without a maximum keeps the maximum
        ([{"Schedule": MORNING, "ScalableTargetAction": {"MinCapacity": 6}}], (6, 10, 6, 10)),
    ],
)  # fmt: skip
def test_weekly_limits(
    actions: list[dict[str, Any]], expected: tuple[float, float, float, float]
) -> None:
    target = {"MinCapacity": 2, "MaxCapacity": 10, "ScheduledActions": actions}
    assert weekly_limits(target) == pytest.approx(expected)


def test_actions_run_in_their_time_zone() -> None:
    noon = action("cron(0 12 ? * * *)", 6)
    for zone, mean in (("UTC", 4), ("Asia/Tokyo", 2.5)):
        midnight = action("cron(0 0 ? * * *)", 2, Timezone=zone)
        target = {"MinCapacity": 2, "MaxCapacity": 10, "ScheduledActions": [noon, midnight]}
        assert weekly_limits(target).mean_minimum == pytest.approx(mean)
