"""Tests of the order of deliveries."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from release.checkouts import Clone
from release.delivery.delivery_order import refuse_older_commit, require_delivered_commit
from release.delivery.errors import NotDelivered
from release.delivery.history import History
from release.tree import CheckoutError
from stage_record import Delivery, DeliveryOutcome


def history(*deliveries: tuple[str, DeliveryOutcome]) -> History:
    entries = [
        Delivery(commit, "2026-11-22T03:00:00+00:00", outcome) for commit, outcome in deliveries
    ]
    return cast(History, SimpleNamespace(stage="prod", deliveries=lambda: entries))


def error_message(contained: bool | CheckoutError, monkeypatch: pytest.MonkeyPatch) -> str:
    def contains(_: Clone, commit: str) -> bool:
        if isinstance(contained, CheckoutError):
            raise contained
        return contained

    monkeypatch.setattr(Clone, "contains", contains)
    live = Delivery("a" * 40, "2026-11-22T03:00:00+00:00", DeliveryOutcome.DELIVERED)
    with pytest.raises(NotDelivered) as error:
        refuse_older_commit(Clone(Path()), "prod", live)
    return str(error.value)


def test_commit_that_lacks_the_live_commit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    message = error_message(False, monkeypatch)
    assert "prod serves commit aaaaaaaaaaaa, delivered 2026-11-22T03:00:00+00:00" in message
    assert "ALLOW_OLDER=1" in message


def test_incomplete_clone_is_refused_with_the_fetch_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    message = error_message(CheckoutError("git fetch --unshallow"), monkeypatch)
    assert "git fetch --unshallow. ALLOW_OLDER=1 skips this check" in message


def test_stage_without_a_delivery_accepts_any_commit() -> None:
    refuse_older_commit(Clone(Path()), "prod", None)


@pytest.mark.parametrize(
    ("deliveries", "message"),
    [
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
def test_undelivered_commit_is_not_promoted(
    deliveries: list[tuple[str, DeliveryOutcome]], message: str
) -> None:
    with pytest.raises(NotDelivered, match=f"commit a {message}, .*make deliver STAGE=prod"):
        require_delivered_commit(history(*deliveries), "a")


def test_delivered_commit_is_promoted_after_a_later_commit() -> None:
    require_delivered_commit(
        history(("a", DeliveryOutcome.DELIVERED), ("b", DeliveryOutcome.WRONG)), "a"
    )
