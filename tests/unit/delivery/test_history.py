"""Tests of the history of deliveries, with a fake SSM parameter."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import TYPE_CHECKING, cast

import pytest

from delivery.errors import NotDelivered
from delivery.record import MAX_ENTRIES, History
from plan import stage_record
from plan.stage_record import DeliveryOutcome, Event
from tests.unit.delivery.fakes import FakeSsm

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

NUMBERS = count()
FAILURES = (DeliveryOutcome.FAILED, DeliveryOutcome.WRONG, DeliveryOutcome.UNFINISHED)


@pytest.fixture
def ssm() -> FakeSsm:
    return FakeSsm()


@pytest.fixture
def history(ssm: FakeSsm) -> History:
    return new_history(ssm)


def new_history(ssm: FakeSsm) -> History:
    return History(cast("SSMClient", ssm), "prod")


def deliver(
    history: History, *commits: str, outcome: DeliveryOutcome = DeliveryOutcome.DELIVERED
) -> None:
    for commit in commits:
        history.record_start(commit)
        history.record_outcome(outcome)


def roll_back(history: History, *, outcome: DeliveryOutcome = DeliveryOutcome.DELIVERED) -> str:
    target = history.rollback_target(None)
    history.record_start(target.commit, rolls_back_to=target)
    history.record_outcome(outcome)
    return target.commit


def live_commit(history: History) -> str:
    live = history.live_delivery()
    assert live
    return live.commit


def commits(history: History) -> list[str]:
    return [delivery.commit for delivery in history.deliveries()]


def test_no_rollback_without_an_earlier_delivery(history: History) -> None:
    with pytest.raises(NotDelivered, match="/triton/prod/delivered has: none"):
        history.rollback_target(None)
    deliver(history, "a" * 40)
    with pytest.raises(NotDelivered, match=f"no earlier release .* has: commit {'a' * 12}. Del"):
        history.rollback_target(None)


def test_second_rollback_goes_further_back(history: History) -> None:
    deliver(history, "a", "b", "c")
    assert roll_back(history) == "b"
    assert roll_back(history) == "a"
    with pytest.raises(NotDelivered):
        history.rollback_target(None)


@pytest.mark.parametrize("outcome", FAILURES)
def test_rollback_after_a_failure_goes_to_the_last_success(
    history: History, outcome: DeliveryOutcome
) -> None:
    deliver(history, "a", "b")
    deliver(history, "c", outcome=outcome)
    assert roll_back(history) == "b"


def test_release_is_the_same_delivery_whatever_its_commit(history: History, ssm: FakeSsm) -> None:
    """A squash has the same release; two releases of one commit are two deliveries."""
    history.record_start("a", "1")
    history.refuse_in_progress("1")
    with pytest.raises(NotDelivered, match=r"a delivery of release 1 \(commit a\) to prod is in"):
        new_history(ssm).record_start("a", "2")
    history.record_outcome(DeliveryOutcome.DELIVERED)
    history.record_start("squashed", "1")
    history.record_outcome(DeliveryOutcome.DELIVERED)
    assert [delivery.commit for delivery in history.deliveries()] == ["squashed"]
    history.record_start("b", "2")
    history.record_outcome(DeliveryOutcome.DELIVERED)
    assert history.rollback_target(None).release == "1"
    assert history.rollback_target("squ").release == history.rollback_target("1").release == "1"


def test_record_has_ten_deliveries_and_only_the_newest_failure(history: History) -> None:
    deliver(history, *(f"{number:040}" for number in range(MAX_ENTRIES + 5)))
    deliver(history, *(f"c{number}" for number in range(2 * MAX_ENTRIES)), outcome=FAILURES[0])
    deliver(history, "d", outcome=DeliveryOutcome.WRONG)
    successful = [f"{number:040}" for number in range(6, MAX_ENTRIES + 5)]
    assert commits(history) == [*successful, "d"]
    deliver(history, "e", "f")  # a success replaces the wrong delivery
    assert commits(history) == [*successful[1:], "e", "f"]


def test_live_commit_may_be_wrong_or_started_but_not_failed(history: History) -> None:
    deliver(history, "a", "b")
    for commit in "b", "c":
        deliver(history, commit, outcome=DeliveryOutcome.FAILED)
        assert live_commit(history) == "b"
    deliver(history, "d", outcome=DeliveryOutcome.WRONG)
    assert live_commit(history) == "d"
    history.record_start("e")
    assert live_commit(history) == "e"


def test_outcome_is_recorded_after_another_delivery_took_over(
    history: History, ssm: FakeSsm
) -> None:
    deliver(history, "a")
    history.record_start("b")
    new_history(ssm).record_start("c", take_over=True)
    with pytest.raises(NotDelivered, match="a delivery of commit c to prod started later"):
        history.refuse_superseded()
    history.record_outcome(DeliveryOutcome.DELIVERED)
    assert [(delivery.commit, delivery.outcome) for delivery in history.deliveries()] == [
        ("a", DeliveryOutcome.DELIVERED),
        ("b", DeliveryOutcome.DELIVERED),
        ("c", DeliveryOutcome.STARTED),
    ]


def event(commit: str | None, result: str, action: str = "deliver") -> Event:
    number = next(NUMBERS)
    begun = datetime(2026, 1, 1, tzinfo=UTC) + timedelta(hours=number)
    return Event(
        stage="prod", action=action, who="me", versions={}, commit=commit, result=result,
        begun=begun.isoformat(),
    )  # fmt: skip


def test_deleted_record_is_read_from_the_events(ssm: FakeSsm) -> None:
    """Its guards stay: the live commit, the targets of rollbacks, and a delivery in progress."""
    events = [
        event("a", "delivered"),
        event("b", "delivered"),
        event("c", "delivered"),
        event(None, "done", "publish"),
        event("d", "failed"),
        event("b", "delivered", "rollback-stage"),
        event("e", "changed by hand"),
    ]
    history = History(cast("SSMClient", ssm), "prod", lambda: reversed(events))
    assert live_commit(history) == "e"
    assert history.rollback_target(None).commit == "b"
    assert history.rollback_target("c").outcome is DeliveryOutcome.ROLLED_BACK
    with pytest.raises(NotDelivered, match="no release or commit d"):
        history.rollback_target("d")
    deliver(history, "f")
    assert commits(new_history(ssm)) == ["a", "b", "c", "b", "e", "f"]
    assert roll_back(new_history(ssm)) == "b"


def test_delivery_in_progress_is_known_from_its_event(ssm: FakeSsm) -> None:
    start = replace(event("a", "started"), begun=datetime.now(UTC).isoformat())
    history = History(cast("SSMClient", ssm), "prod", lambda: [start])
    with pytest.raises(NotDelivered, match="commit a to prod is in progress"):
        history.record_start("b")


def test_second_delivery_is_refused_until_the_first_ends(history: History, ssm: FakeSsm) -> None:
    history.record_start("a")
    history.refuse_superseded()
    second = new_history(ssm)
    with pytest.raises(NotDelivered, match=r"commit a to prod is in progress .*TAKE_OVER=1$"):
        second.record_start("b")
    history.record_outcome(DeliveryOutcome.UNFINISHED)  # as Ctrl-C does
    second.record_start("b")
    assert commits(history) == ["a", "b"]


def test_killed_delivery_is_continued_or_times_out(history: History, ssm: FakeSsm) -> None:
    history.record_start("a")
    second = new_history(ssm)
    second.record_start("a")
    second.refuse_superseded()
    history.refuse_superseded()
    start = (datetime.now(UTC) - stage_record.MAX_DURATION).isoformat()
    killed = {"commit": "b", "time": start, "outcome": "started"}
    ssm.values = [json.dumps({"deliveries": [killed]})]
    second.record_start("c")


@pytest.mark.parametrize("earlier", [(), ("a",)], ids=["first delivery", "later delivery"])
def test_later_write_of_two_simultaneous_deliveries_wins(
    earlier: tuple[str, ...], history: History, ssm: FakeSsm
) -> None:
    deliver(history, *earlier)
    first, second = new_history(ssm), new_history(ssm)
    ssm.before_put.append(lambda: first.record_start("b"))
    second.record_start("c")
    with pytest.raises(NotDelivered, match="a delivery of commit c to prod started later"):
        first.refuse_superseded()
    first.record_outcome(DeliveryOutcome.FAILED)
    second.refuse_superseded()
    second.record_outcome(DeliveryOutcome.DELIVERED)
    assert live_commit(history) == "c"


def test_invalid_parameter_refuses_every_delivery(history: History, ssm: FakeSsm) -> None:
    ssm.values = ["9999"]
    with pytest.raises(NotDelivered, match="get-parameter-history --name /triton/prod/delivered"):
        history.record_start("a")
    assert ssm.values == ["9999"]
