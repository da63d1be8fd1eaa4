"""Endpoints that are no longer there."""

from collections.abc import Callable, Iterator

from release.review.comparison import Comparison
from release.review.dangers.found import Found


def removed_endpoints(comparison: Comparison) -> Iterator[Found]:
    """An endpoint leaves the app, or gets another name.

    `cdk deploy` leaves stacks alone that are no longer in the app: they run, and cost, until
    somebody deletes them. The endpoint's logs are of a stack that stays, and go at once.
    """
    if not comparison.after:
        names = ", ".join(it.name for it in comparison.endpoints.values())
        yield Found(
            comparison.stage,
            f"the stage {comparison.stage} is no longer in the app: its stacks run on, without "
            f"updates, until somebody deletes them; after that, every invocation fails ({names})",
        )
        return
    for it in comparison.endpoints.values():
        if it.before and it.after is None:
            yield Found(
                it.name,
                f"the endpoint {it.name} is no longer in the app: its stack runs on, without "
                "updates, until it is deleted; after that, every invocation fails",
                explains=_its_logs(comparison.stage, it.name),
            )
        elif it.before and it.before.name != it.name:
            yield Found(
                it.before.name,
                f"the endpoint {it.before.name} becomes {it.name}: a new one is created, "
                "the old one is deleted, and clients that invoke it by that name fail",
            )


def _its_logs(stage: str, endpoint: str) -> Callable[[str, str], bool]:
    log = f"{stage}-models.Log-{endpoint.removeprefix(f'{stage}-')}/"
    return lambda rule, subject: rule == "replaced_resources" and subject.startswith(log)
