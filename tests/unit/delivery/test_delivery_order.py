"""Tests of the order of deliveries."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from delivery.deliver import refuse_older_release, require_delivered_release
from delivery.errors import NotDelivered
from delivery.record import History
from plan.stage_record import Delivery, DeliveryOutcome
from release.artefact import ReleaseArtefact

TIME = "2026-11-22T03:00:00+00:00"
LIVE = Delivery("a" * 40, TIME, DeliveryOutcome.DELIVERED, "1" * 64)
RELEASE = ReleaseArtefact(Path(), {}, commit="c" * 40, ancestors=("b" * 40, "a" * 40))


def history(*deliveries: tuple[str, DeliveryOutcome]) -> History:
    entries = [Delivery("c" * 40, TIME, outcome, release) for release, outcome in deliveries]
    return cast(History, SimpleNamespace(stage="prod", deliveries=lambda: entries))


def test_release_that_lacks_the_live_commit_is_refused() -> None:
    older = ReleaseArtefact(Path(), {}, commit="0" * 40, ancestors=("e" * 40,))
    with pytest.raises(NotDelivered) as error:
        refuse_older_release(older, "prod", LIVE)
    assert f"prod serves release {'1' * 12} (commit {'a' * 12}), delivered {TIME}" in str(
        error.value
    )
    assert "not among the last 1 commits of this release" in str(error.value)
    assert "ALLOW_OLDER=1" in str(error.value)


@pytest.mark.parametrize(
    "live",
    [
        None,
        LIVE,
        Delivery("c" * 40, TIME, DeliveryOutcome.WRONG),
        Delivery("e" * 40, TIME, DeliveryOutcome.DELIVERED, RELEASE.digest),
    ],
    ids=["nothing", "an ancestor", "the same commit", "the same release of a squashed commit"],
)
def test_release_that_contains_the_live_commit_is_accepted(live: Delivery | None) -> None:
    refuse_older_release(RELEASE, "prod", live)


@pytest.mark.parametrize(
    ("deliveries", "message"),
    [
        ([("b", DeliveryOutcome.DELIVERED)], "was not delivered to prod"),
        ([(RELEASE.digest, DeliveryOutcome.WRONG)], "ended as 'wrong' in prod"),
        ([(RELEASE.digest, DeliveryOutcome.DELIVERED), (RELEASE.digest, DeliveryOutcome.STARTED)],
         "ended as 'started' in prod"),
        ([(RELEASE.digest, DeliveryOutcome.ROLLED_BACK), ("b", DeliveryOutcome.DELIVERED)],
         "ended as 'rolled back' in prod"),
    ],
)  # fmt: skip
def test_undelivered_release_is_not_promoted(
    deliveries: list[tuple[str, DeliveryOutcome]], message: str
) -> None:
    """Another release of the same commit may have been delivered: the digest decides."""
    with pytest.raises(NotDelivered, match=f"{message}, .*make deliver STAGE=prod"):
        require_delivered_release(history(*deliveries), RELEASE)


def test_delivered_release_is_promoted_after_a_later_one() -> None:
    deliveries = (RELEASE.digest, DeliveryOutcome.DELIVERED), ("b", DeliveryOutcome.WRONG)
    require_delivered_release(history(*deliveries), RELEASE)
