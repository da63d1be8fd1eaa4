"""Updates that are no longer taken back."""

from collections.abc import Iterator

from release.review.comparison import Comparison


def lost_rollback(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """No alarm takes an update of the endpoint back any more, or fewer do."""
    for before, after in comparison.kept:
        if after.rollback_alarms < before.rollback_alarms:
            yield (
                after.name,
                f"updates of {after.name} are taken back by {after.rollback_alarms} alarms, before "
                f"by {before.rollback_alarms}",
            )
