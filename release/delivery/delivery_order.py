"""Checks of the order of deliveries: no older commit, and no promotion before its source stage."""

from release.checkouts import Clone
from release.delivery.errors import NotDelivered
from release.delivery.history import History
from release.tree import CheckoutError
from stage_record import Delivery, DeliveryOutcome

ALLOW_OLDER_OPTION = "ALLOW_OLDER=1"
"""The option that allows a delivery to undo the live commit."""


def refuse_older_commit(clone: Clone, stage: str, live: Delivery | None) -> None:
    """Raise `NotDelivered` if HEAD does not contain the live commit of a stage."""
    if live is None:
        return
    try:
        if clone.contains(live.commit):
            return
    except CheckoutError as error:
        raise NotDelivered(
            f"{stage} serves commit {live.commit[:12]}, and {error}. {ALLOW_OLDER_OPTION} skips "
            "this check"
        ) from None
    raise NotDelivered(
        f"{stage} serves commit {live.commit[:12]}, delivered {live.time}, which HEAD does "
        "not contain: this delivery would revert it. Merge it and deliver the merge. To go back: "
        f"make rollback STAGE={stage}. To revert it anyway: {ALLOW_OLDER_OPTION}"
    )


def require_delivered_commit(history: History, commit: str) -> None:
    """Raise `NotDelivered` unless a commit was delivered to the stage to promote from."""
    outcomes = [delivery.outcome for delivery in history.deliveries() if delivery.commit == commit]
    if outcomes and outcomes[-1] is DeliveryOutcome.DELIVERED:
        return
    state = f"ended as {outcomes[-1].value!r} in" if outcomes else "was not delivered to"
    raise NotDelivered(
        f"commit {commit[:12]} {state} {history.stage}, and only a commit that was delivered there "
        f"is promoted: make deliver STAGE={history.stage}"
    )
