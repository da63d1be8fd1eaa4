"""One instance is no redundancy."""

from collections.abc import Iterator

from review.comparison import Comparison


def low_minimum(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """A variant in production may have fewer than two instances, and before had not."""
    if not comparison.production:
        return
    for before, after in comparison.endpoints.values():
        if after is None:
            continue
        for name, variant in after.variants.items():
            old = before.variants.get(name) if before else None
            if variant.minimum < 2 and (old is None or old.minimum >= 2):
                yield (
                    f"{after.name}.{name}",
                    f"{after.name} may run on {variant.minimum} instance: one failure, and nothing "
                    "answers",
                )
