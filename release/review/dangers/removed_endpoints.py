"""Endpoints that are no longer there."""

from collections.abc import Iterator

from release.review.comparison import Comparison


def removed_endpoints(comparison: Comparison) -> Iterator[tuple[str, str]]:
    """An endpoint leaves the app, or gets another name.

    `cdk deploy` leaves stacks alone that are no longer in the app: they run, and cost, until
    somebody deletes them.
    """
    for it in comparison.endpoints.values():
        if it.before and it.after is None:
            yield (
                it.name,
                f"the endpoint {it.name} is no longer in the app: its stack runs on, without "
                "updates, until it is deleted; after that, every invocation fails",
            )
        elif it.before and it.before.name != it.name:
            yield (
                it.before.name,
                f"the endpoint {it.before.name} becomes {it.name}: a new one is created, "
                "the old one is deleted, and clients that invoke it by that name fail",
            )
