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
    """Whether an alarm is one of these variants', whose name is before or after its hyphen."""
    name = alarm.rpartition("/")[2]
    return any(name.startswith(f"{it}-") or name.endswith(f"-{it}") for it in variants)
