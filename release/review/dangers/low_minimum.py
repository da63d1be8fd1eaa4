"""A single instance has no redundancy."""

from collections.abc import Iterator

from release.review.comparison import Comparison
from release.review.dangers.found import Found


def low_minimum(comparison: Comparison) -> Iterator[Found]:
    """A variant in production may have fewer than two instances, and could not before."""
    if not comparison.production:
        return
    for pair in comparison.endpoints.values():
        if pair.after is None:
            continue
        for name, variant in pair.after.variants.items():
            old = pair.before.variants.get(name) if pair.before else None
            if variant.minimum < 2 and (old is None or old.minimum >= 2):
                yield Found(
                    f"{pair.name}.{name}",
                    f"{pair.name} may run on {variant.minimum} instance: when it fails, "
                    "nothing answers",
                )
