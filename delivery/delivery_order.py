"""Checks of the order of deliveries: no older commit, and no promotion before its source stage."""

from delivery.errors import NotDelivered
from delivery.history import History
from plan.stage_record import Delivery, DeliveryOutcome
from release.artefact import ReleaseArtefact

ALLOW_OLDER_OPTION = "ALLOW_OLDER=1"
"""The option that allows a delivery to undo the live commit."""


def refuse_older_release(release: ReleaseArtefact, stage: str, live: Delivery | None) -> None:
    """Raise `NotDelivered` if the commit of a release does not contain a stage's live commit."""
    if live is None or live.release == release.digest:
        return
    if live.commit not in (release.commit, *release.ancestors):
        raise NotDelivered(
            f"{stage} serves {live.name}, delivered {live.time}, which is not among the last "
            f"{len(release.ancestors)} commits of this release, {release.name}: this delivery "
            "would revert it. Merge it, and deliver the release of the merge; if it was built in a "
            "shallow clone: git fetch --unshallow, and build it again. To go back: make rollback "
            f"STAGE={stage}. To revert it anyway: {ALLOW_OLDER_OPTION}"
        )


def require_delivered_release(history: History, release: ReleaseArtefact) -> None:
    """Raise `NotDelivered` unless a release was delivered to the stage to promote from."""
    outcomes = [
        delivery.outcome for delivery in history.deliveries() if delivery.release == release.digest
    ]
    if outcomes and outcomes[-1] is DeliveryOutcome.DELIVERED:
        return
    state = f"ended as {outcomes[-1].value!r} in" if outcomes else "was not delivered to"
    raise NotDelivered(
        f"release {release.name} {state} {history.stage}, and only a release that was delivered "
        f"there is promoted: make deliver STAGE={history.stage}"
    )
