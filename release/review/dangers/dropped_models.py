"""Models that clients can no longer resolve."""

from collections.abc import Iterator

from release.review.comparison import Comparison
from release.review.dangers.found import Found


def dropped_models(comparison: Comparison) -> Iterator[Found]:
    """A model leaves the catalog of an endpoint that stays."""
    for before, after in comparison.kept:
        for name in sorted(before.models.keys() - after.models.keys()):
            yield Found(
                f"{before.name}.{name}",
                f"{before.name} no longer has {name} in its catalog: clients that ask for it fail "
                "(its archives stay)",
            )
