"""Dangers of scheduled scaling: days on which capacity is lowered, and not raised again.

Source: Application Auto Scaling user guide, scheduled-scaling-using-cron-expressions: the limits of
a scheduled action apply until the next one.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

from aws_croniter import AwsCroniter
from aws_croniter.exceptions import AwsCroniterExpressionError

from review.comparison import Comparison
from review.dangers.danger import Danger, digest
from review.references import StageResources
from review.remark import Remark
from review.values import construct_path

TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"
DAYS = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
WEEKEND = {"SAT", "SUN"}
LOST, REDUCED = "lost_scaling", "reduced_protection"
"""The rule of a lower limit, and the advisory one, of weekends, where it is often meant."""
START, WINDOW = datetime(2027, 1, 4, tzinfo=UTC), timedelta(weeks=3)
"""A Monday, and the days from it: schedules by weekday repeat; others are not judged."""
NOON, DAY = timedelta(hours=12), timedelta(hours=20)
"""The time at which capacity is expected, and the least distance of two days' actions."""
LIMITS = {"MaxCapacity": "limits it", "MinCapacity": "lets it scale in"}
"""Property with a limit -> what a lower value does."""


class Action(NamedTuple):
    """A scheduled action at one time, in UTC; a limit that it does not set is None."""

    time: datetime
    name: str
    zone: str
    limits: dict[str, int]


def unpaired_schedules(comparison: Comparison) -> Iterator[Danger]:
    """In production, schedules leave a limit of capacity lowered for a day or longer."""
    if not comparison.is_production:
        return
    before, after = map(StageResources, comparison.templates)
    old_targets = dict(before.of_type(TARGET))
    for place, target in after.of_type(TARGET):
        old, new = (
            schedules if isinstance(schedules := side.get("ScheduledActions"), list) else []
            for side in (old_targets.get(place, {}), target)
        )
        if new != old and (problems := [*_problems(target, new)]):
            stack, logical_id = place
            resources = comparison.templates[1][stack]["Resources"]
            pair = comparison.endpoints.get(stack)
            path = construct_path(logical_id, resources)
            name = pair.name if pair else path
            rules, texts = zip(*problems, strict=True)
            text = "; ".join(texts)
            yield Danger(
                f"{stack}.{path.partition('/')[2] or path}.{digest(text)}",
                f"{name}: {text}",
                rule=next((rule for rule in rules if rule == LOST), rules[0]),
            )


def _problems(target: dict[str, Any], schedules: list[Any]) -> Iterator[Remark]:
    actions = sorted(
        (action for schedule in schedules for action in _actions(schedule)),
        key=lambda action: action.time,
    )
    zones = {action.name: action.zone for action in actions}
    if len({*zones.values()}) > 1:
        texts = ", ".join(f"{name} in {zone}" for name, zone in sorted(zones.items()))
        yield Remark(LOST, f"its schedules are in different time zones: {texts}")
    for limit, words in LIMITS.items():
        usual = target.get(limit)
        values = [_limit(schedule, limit) for schedule in schedules]
        known = [value for value in values if value is not None]
        if not known or not isinstance(usual, int):
            continue
        if limit == "MaxCapacity" and max(known) < usual:
            text = (
                f"a schedule limits it to {max(known)} instances, and none raises the limit again"
            )
            yield Remark(LOST, f"{text} to {usual}: add a schedule that does")
            return
        if days := _lowered_days(actions, limit, usual):
            usual = max(usual, *known)
            names = sorted({action.name for action in actions
                            if action.limits.get(limit, usual) < usual})  # fmt: skip
            text = f"{', '.join(names)} {words} to {min(known)} instead of {usual} instances"
            text += f"{_longest(actions, limit, usual)}, also on {', '.join(days)}"
            yield Remark(REDUCED if {*days} <= WEEKEND else LOST, text)
            return


def _limit(schedule: Any, limit: str) -> int | None:
    value = (schedule.get("ScalableTargetAction") or {}).get(limit)
    return value if isinstance(value, int) else None


def _actions(schedule: Any) -> Iterator[Action]:
    """Yield the actions of a schedule with cron(...) in the window."""
    text, zone = str(schedule.get("Schedule")), str(schedule.get("Timezone", "UTC"))
    if not text.startswith("cron("):
        return
    try:
        offset = ZoneInfo(zone).utcoffset(START.replace(tzinfo=None)) or timedelta()
        calendar = AwsCroniter(text.removeprefix("cron(").removesuffix(")").upper())
        times = calendar.get_all_schedule_bw_dates(START, START + WINDOW)
    except (AwsCroniterExpressionError, KeyError, OSError, ValueError):
        return  # the stage's schema refuses them
    limits = {name: value for name in LIMITS if (value := _limit(schedule, name)) is not None}
    for time in times:
        yield Action(time - offset, str(schedule.get("ScheduledActionName")), zone, limits)


def _longest(actions: list[Action], limit: str, usual: int) -> str:
    """Return the longest period in which a limit is lower than usual, as text."""
    longest, begin = None, None
    for action in (action for action in actions if limit in action.limits):
        if action.limits[limit] < usual:
            begin = begin or action
        elif begin:
            if longest is None or action.time - begin.time > longest[1].time - longest[0].time:
                longest = begin, action
            begin = None
    if longest is None:
        return " for weeks, until another schedule raises it" if begin else ""
    times = (f"{_day(each.time, each.zone)} {each.time.astimezone(ZoneInfo(each.zone)):%H:%M}"
             for each in longest)  # fmt: skip
    return f" from {' to '.join(times)} ({longest[0].zone})"


def _lowered_days(actions: list[Action], limit: str, usual: int) -> list[str]:
    """Return the days on which a limit stays lowered; working days for the minimum.

    A day counts if an action of the day before lowers the limit and is repeated without a raise in
    between, or if the maximum is below the usual one at noon.
    """
    days = set[str]()
    relevant = [action for action in actions if limit in action.limits]
    for index, action in enumerate(relevant):
        value = action.limits[limit]
        for later in relevant[index + 1 :]:
            if later.limits[limit] > value:
                break
            if later.name == action.name:
                if later.time - action.time >= DAY and _is_raised(relevant, limit, value):
                    days.add(_day(later.time, later.zone))
                break
        end = relevant[index + 1].time if index + 1 < len(relevant) else action.time
        noon = _noon_after(action)
        while value < usual and noon < end and limit == "MaxCapacity":
            days.add(_day(noon, action.zone))
            noon += timedelta(days=1)
    return [day for day in DAYS if day in days - (WEEKEND if limit == "MinCapacity" else set())]


def _is_raised(actions: list[Action], limit: str, value: int) -> bool:
    return any(action.limits[limit] > value for action in actions)


def _noon_after(action: Action) -> datetime:
    local = action.time.astimezone(ZoneInfo(action.zone))
    noon = local.replace(hour=0, minute=0) + NOON
    return (noon if noon > local else noon + timedelta(days=1)).astimezone(UTC)


def _day(time: datetime, zone: str) -> str:
    return DAYS[time.astimezone(ZoneInfo(zone)).weekday()]
