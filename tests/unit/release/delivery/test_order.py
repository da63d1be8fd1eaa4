"""Which commits may be delivered, after what the stage and another stage have."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from release.checkouts import Clone
from release.delivery.errors import NotDelivered
from release.delivery.history import History
from release.delivery.order import refuse_older, require_delivered
from release.tree import CheckoutError
from stage_record import Delivery, DeliveryOutcome


def history(*deliveries: tuple[str, DeliveryOutcome]) -> History:
    entries = [Delivery(commit, "2026-11-22T03:00:00+00:00", how) for commit, how in deliveries]
    return cast(History, SimpleNamespace(stage="prod", deliveries=lambda: entries))


def refused(contained: bool | CheckoutError, monkeypatch: pytest.MonkeyPatch) -> str:
    def contains(_: Clone, commit: str) -> bool:
        if isinstance(contained, CheckoutError):
            raise contained
        return contained

    monkeypatch.setattr(Clone, "contains", contains)
    live = Delivery("a" * 40, "2026-11-22T03:00:00+00:00", DeliveryOutcome.DELIVERED)
    with pytest.raises(NotDelivered) as error:
        refuse_older(Clone(Path()), "prod", live)
    return str(error.value)


def test_a_commit_that_would_undo_the_live_one_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    message = refused(False, monkeypatch)
    assert "prod serves commit aaaaaaaaaaaa, delivered 2026-11-22T03:00:00+00:00" in message
    assert "ALLOW_OLDER=1" in message


def test_a_clone_that_cannot_know_says_what_fetches_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    message = refused(CheckoutError("git fetch --unshallow"), monkeypatch)
    assert "git fetch --unshallow. ALLOW_OLDER=1 skips this check" in message


def test_a_stage_without_a_delivery_takes_any_commit() -> None:
    refuse_older(Clone(Path()), "prod", None)


@pytest.mark.parametrize(
    ("deliveries", "message"),
    [
        ([], "was not delivered to prod"),
        ([("b", DeliveryOutcome.DELIVERED)], "was not delivered to prod"),
        ([("a", DeliveryOutcome.WRONG)], "ended as 'wrong' in prod"),
        (
            [("a", DeliveryOutcome.DELIVERED), ("a", DeliveryOutcome.STARTED)],
            "ended as 'started' in prod",
        ),
        (
            [("a", DeliveryOutcome.ROLLED_BACK), ("b", DeliveryOutcome.DELIVERED)],
            "ended as 'rolled back' in prod",
        ),
    ],
)
def test_what_did_not_end_well_in_a_stage_is_not_promoted(
    deliveries: list[tuple[str, DeliveryOutcome]], message: str
) -> None:
    with pytest.raises(NotDelivered, match=f"commit a {message}, .*make deliver STAGE=prod"):
        require_delivered(history(*deliveries), "a")


def test_what_was_delivered_there_is_promoted_though_another_commit_followed() -> None:
    require_delivered(history(("a", DeliveryOutcome.DELIVERED), ("b", DeliveryOutcome.WRONG)), "a")
