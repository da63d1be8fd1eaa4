"""Alarms that are deleted."""

from collections.abc import Iterator

from release.review.comparison import Comparison
from release.review.dangers.found import Found


def lost_alarms(comparison: Comparison) -> Iterator[Found]:
    """An alarm of an endpoint that stays is deleted, and not because its variant is."""
    for before, after in comparison.kept:
        gone = before.variants.keys() - after.variants.keys()
        for alarm in before.alarms:
            if alarm not in after.alarms and not _is_of(alarm, gone):
                yield Found(
                    f"{after.name}.{alarm}",
                    f"{after.name} loses the alarm {alarm}",
                    group=after.name,
                    heading=f"{after.name} loses {{count}} alarms",
                )


def _is_of(alarm: str, variants: set[str]) -> bool:
    """Whether an alarm is one of these variants', whose name is set apart by hyphens."""
    name = f"-{alarm.rpartition('/')[2]}-"
    return any(f"-{it}-" in name for it in variants)
