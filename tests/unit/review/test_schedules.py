"""Days on which scheduled scaling lowers capacity and does not raise it again."""

from typing import Any

import pytest

from review.comparison import Comparison
from review.dangers.schedules import unpaired_schedules
from tests.unit.review.edits import PROD, plan_of


def action(name: str, schedule: str, low: int, high: int, zone: str = "Asia/Tokyo") -> Any:
    return {
        "ScheduledActionName": name,
        "Schedule": schedule,
        "Timezone": zone,
        "ScalableTargetAction": {"MinCapacity": low, "MaxCapacity": high},
    }


def template(*actions: Any) -> dict[str, Any]:
    properties = {"MinCapacity": 2, "MaxCapacity": 8, "ScheduledActions": [*actions]}
    target = {"Type": "AWS::ApplicationAutoScaling::ScalableTarget", "Properties": properties}
    return {"prod-text": {"Resources": {"Target": target}}}


def messages(*actions: Any, before: tuple[Any, ...] = (), plan: Any = PROD) -> list[str]:
    comparison = Comparison("prod", template(*before), template(*actions), plan, plan)
    return [danger.message for danger in unpaired_schedules(comparison)]


NIGHT = action("night", "cron(30 19 ? * MON-FRI *)", 2, 3)
DAY = action("day", "cron(0 6 ? * MON-FRI *)", 4, 8)
DANGERS = {
    "days that are not raised": (
        [NIGHT, action("day", "cron(0 6 ? * MON,WED,FRI *)", 4, 8)],
        "from FRI 19:30 to MON 06:00 (Asia/Tokyo), also on TUE, THU, SAT, SUN",
    ),
    "first of the month": (
        [NIGHT, action("day", "cron(0 6 1 * ? *)", 4, 8)],
        "night limits it to 3 instead of 8 instances for weeks, until another schedule raises it",
    ),
    "night and day exchanged": (
        [action("night", "cron(30 7 ? * 2-6 *)", 2, 3), action("day", "cron(0 18 * * ? *)", 4, 8)],
        "from MON 07:30 to MON 18:00 (Asia/Tokyo), also on MON, TUE, WED, THU, FRI",
    ),
    "only the minimum": (
        [action("night", "cron(30 19 ? * MON-FRI *)", 2, 8),
         action("day", "cron(0 6 ? * MON-THU *)", 5, 8)],
        "lets it scale in to 2 instead of 5 instances from THU 19:30 to MON 06:00 (Asia/Tokyo), "
        "also on FRI",
    ),
    "never": ([NIGHT], "limits it to 3 instances, and none raises the limit again to 8"),
    "once": ([action("sale", "at(2027-01-08T00:00:00)", 2, 3)], "none raises the limit again"),
    "time zones": ([NIGHT, action("day", "cron(0 6 ? * MON-FRI *)", 4, 8, "UTC")],
                   "different time zones: day in UTC, night in Asia/Tokyo"),
}  # fmt: skip


@pytest.mark.parametrize("title", DANGERS)
def test_lowered_capacity_is_a_danger(title: str) -> None:
    actions, text = DANGERS[title]
    (message,) = messages(*actions)
    assert message.startswith("prod-text: ")
    assert text in message


WEEKENDS = {
    "every working day": [NIGHT, DAY],
    "every night": [action("night", "cron(30 19 * * ? *)", 2, 3), DAY],
    "days as numbers": [NIGHT, action("day", "cron(0 6 ? * 2-6 *)", 4, 8)],
    "several lower steps of a night": [action("night", "cron(0 20-23 ? * MON-FRI *)", 2, 3), DAY],
}


@pytest.mark.parametrize("title", WEEKENDS)
def test_lower_limit_at_weekends_is_advice(title: str) -> None:
    templates = template(), template(*WEEKENDS[title])
    (danger,) = unpaired_schedules(Comparison("prod", *templates, PROD, PROD))
    assert danger.rule == "reduced_protection"
    assert danger.message.endswith(" to MON 06:00 (Asia/Tokyo), also on SAT, SUN")


HARMLESS: dict[str, list[Any]] = {
    "every day": [
        action("night", "cron(30 19 * * ? *)", 2, 3),
        action("day", "cron(0 6 * * ? *)", 4, 8),
    ],
    "peak in the evening": [
        action("evening", "cron(0 17 * * ? *)", 4, 20),
        action("night", "cron(0 23 * * ? *)", 2, 8),
    ],
    "once, for more": [action("sale", "at(2027-01-08T00:00:00)", 6, 20)],
    "interval": [action("night", "rate(12 hours)", 2, 3), DAY],
}


@pytest.mark.parametrize("title", HARMLESS)
def test_schedules_that_raise_capacity_again_are_no_danger(title: str) -> None:
    assert messages(*HARMLESS[title]) == []


def test_equal_schedules_and_other_stages_are_no_danger() -> None:
    assert messages(NIGHT, before=(NIGHT,)) == []
    assert messages(NIGHT, plan=plan_of(production=False)) == []
