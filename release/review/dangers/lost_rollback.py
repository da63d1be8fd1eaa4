"""Updates that are no longer rolled back."""

from collections.abc import Iterator

from release.review.comparison import Comparison


def lost_rollback(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """Fewer alarms roll an update of the endpoint back, or none."""
    for before, after in comparison.kept:
        if after.rollback_alarms < before.rollback_alarms:
            yield (
                after.name,
                f"updates of {after.name} are rolled back by {after.rollback_alarms} alarms, "
                f"before by {before.rollback_alarms}",
            )
