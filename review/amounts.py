"""Amounts that protect, such as timeouts, attempts, retention, concurrency and backups."""

import re
from typing import Any

from review.remark import Remark

PROTECTING = re.compile(
    r"retention|recovery_?period|keep[-_]?days|time-?_?out|attempts|retries|concurren|wait_?(interval|seconds|minutes)"
    r"|terminationwait|backup|sampling_?percentage|max_?receive_?count|age_?in_?seconds"
    r"|grace|memory_?size|pending_?window",
    re.IGNORECASE,
)
"""Names of amounts that protect. A part of a name counts: MaximumRetryAttempts."""
UNITS = {
    r"days$": "days",
    r"hours$": "h",
    r"minutes$": "min",
    r"(microseconds|micros|us)$": "µs",
    r"(milliseconds|millis|ms)$": "ms",
    r"memory_?size$": "MB",
    r"(seconds|timeout|wait|period)$": "s",
    r"percent(age)?$": "%",
}
"""End of a name -> unit. Timeouts without a unit in their name, such as those of functions, queues
and custom resources, are in seconds (CloudFormation template reference)."""
MULTIPLYING = re.compile(r"attempts|retr(y|ies)|concurren|session_?duration|tolerat", re.IGNORECASE)
"""Names of amounts that are a danger if they rise sharply: they cost, or tolerate, a multiple."""
SHRUNK, REDUCED = "shrunk_protection", "reduced_protection"
"""Rules of a fall to a third or less, and of a smaller one."""
DEFAULTS = {
    **dict.fromkeys(
        ("RetentionInDays", "ReservedConcurrentExecutions", "ConcurrentBuildLimit"), float("inf")
    ),
    "RecoveryPeriodInDays": 35,
}
"""Amounts that apply if a property is absent: logs are kept forever, and backups for 35 days
(DynamoDB API reference, PointInTimeRecoverySpecification)."""

SHARP_RISE_FACTOR = 5
"""An amount that grows by this factor is probably a mistake; chosen for this project."""
SHARP_FALL_DIVISOR = 3
"""An amount that falls to a third or less is treated like zero; chosen for this project."""


def rises_sharply(before: float, after: float) -> bool:
    """Return whether an amount becomes at least `SHARP_RISE_FACTOR` times as large."""
    return after >= SHARP_RISE_FACTOR * before > 0


def falls_sharply(before: float, after: float) -> bool:
    """Return whether an amount falls to a third or less."""
    return after < before and after <= before / SHARP_FALL_DIVISOR


def duration(seconds: float) -> str:
    """Return a time in the largest unit in which it is a whole number."""
    for unit, size in (("days", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * size and seconds % size == 0:
            return f"{seconds / size:g} {unit}"
    return f"{seconds:g} s"


def unsafe_amount(path: str, before: Any, after: Any) -> Remark | None:
    """Return rule and text of an amount that protects less; `path` ends with its name."""
    name = path.rpartition(".")[2]
    is_limited = before is not None or name not in DEFAULTS
    if (
        is_limited
        and MULTIPLYING.search(name)
        and rises_sharply(_number(before) or 0.1, _number(after) or 0)
    ):
        return Remark("changed_limits", f"{path}: {before} -> {after}")
    if not PROTECTING.search(path):
        return None
    amounts = [DEFAULTS.get(name) if side is None else _number(side) for side in (before, after)]
    old, new = amounts
    if old is None or (new is None and after is not None) or not old > (new or 0):
        return None
    is_sharp = new is None or falls_sharply(old, new)
    texts = " -> ".join(_text(name, number) for number in amounts)
    return Remark(SHRUNK if is_sharp else REDUCED, f"{path}: {texts}")


def _number(value: Any) -> float | None:
    """Return a number, which custom resources and definitions also have as text."""
    try:
        return None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError):
        return None


def _text(name: str, number: float | None) -> str:
    if number is None:
        return "none"
    if number == float("inf"):
        return "no limit"
    units = (unit for end, unit in UNITS.items() if re.search(end, name, re.IGNORECASE))
    unit = next(units, "")
    return f"{number:.15g}{' ' if unit else ''}{unit}"
