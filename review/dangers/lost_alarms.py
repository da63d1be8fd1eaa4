"""Alarms that no longer sound."""

from collections.abc import Iterator

from review.comparison import Comparison


def lost_alarms(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """An alarm of an endpoint that stays is deleted."""
    for before, after in comparison.kept:
        for alarm in before.alarms:
            if alarm not in after.alarms and _variant_stays(alarm, set(after.variants)):
                yield f"{after.name}.{alarm}", f"{after.name} loses the alarm {alarm}"


def _variant_stays(alarm: str, variants: set[str]) -> bool:
    """Alarms of a variant, which have its name before or after a hyphen, go with it."""
    name = alarm.rpartition("/")[2]
    return any(name.startswith(f"{it}-") or name.endswith(f"-{it}") for it in variants)
