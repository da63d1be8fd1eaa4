"""Updates that the guard refuses."""

from collections.abc import Iterator

from release.review.comparison import Comparison
from release.review.dangers.found import Found
from release.review.refusals import refusal


def refused_updates(comparison: Comparison) -> Iterator[Found]:
    """An endpoint cannot be updated to what the change says, and everything after it waits.

    A client may name a variant, too (API reference, InvokeEndpoint, TargetVariant).
    """
    if comparison.moves:
        return
    for before, after in comparison.kept:
        if why := refusal(before, after):
            gone = sorted(before.variants.keys() - after.variants.keys())
            named = f"; clients that name {', '.join(gone)} as TargetVariant would fail"
            yield Found(
                after.name,
                f"the update of {after.name} is refused before it begins: {why}"
                f"{named if gone else ''}. Deploy a second endpoint, and move the clients",
            )
