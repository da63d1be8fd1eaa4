"""Fleets that cannot grow while they are replaced."""

from collections.abc import Iterator

from release.review.comparison import Comparison
from release.review.dangers.found import Found
from release.review.refusals import scaled_variants_that_change


def unscaled_meanwhile(comparison: Comparison) -> Iterator[Found]:
    """A variant that is scaled gets other instances, which takes two deploys (docs/delivery.md)."""
    if comparison.moves:
        return
    for before, after in comparison.kept:
        if names := scaled_variants_that_change(before, after):
            most = max(before.variants[it].maximum for it in names)
            yield Found(
                f"{after.name}.{','.join(names)}",
                f"{', '.join(names)} of {after.name} is not scaled until its new instances serve: "
                f"it keeps the number that it has, and does not grow to {most}; cdk deploy is "
                "refused, make deliver does it in two deploys",
            )
