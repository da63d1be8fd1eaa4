"""Tests of the history of deliveries, with a fake SSM parameter."""

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

import pytest

import stage_record
from release.delivery.errors import NotDelivered
from release.delivery.history import MAX_ENTRIES, History
from stage_record import DeliveryOutcome
from tests.unit.release.delivery.fakes import FakeSsm

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient


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
        history.begin(commit)
        history.end(outcome)


def roll_back(history: History, *, outcome: DeliveryOutcome = DeliveryOutcome.DELIVERED) -> str:
    target = history.target(None)
    history.begin(target.commit, back_to=target)
    history.end(outcome)
    return target.commit


def live_commit(history: History) -> str:
    live = history.live()
    assert live
    return live.commit


def outcomes(history: History) -> list[tuple[str, DeliveryOutcome]]:
    return [(delivery.commit, delivery.outcome) for delivery in history.deliveries()]


def test_no_rollback_without_an_earlier_delivery(history: History) -> None:
    with pytest.raises(NotDelivered, match="/triton/prod/delivered has: none"):
        history.target(None)
    deliver(history, "a" * 40)
    with pytest.raises(NotDelivered, match=f"no earlier commit was .* has: {'a' * 12}. Check"):
        history.target(None)


def test_wrong_delivery_is_dropped_after_a_successful_one(history: History) -> None:
    deliver(history, "a")
    deliver(history, "b", outcome=DeliveryOutcome.WRONG)
    deliver(history, "c", outcome=DeliveryOutcome.FAILED)
    deliver(history, "d", "e")
    assert [delivery.commit for delivery in history.deliveries()] == ["a", "d", "e"]


def test_second_rollback_goes_further_back(history: History) -> None:
    deliver(history, "a", "b", "c")
    assert roll_back(history) == "b"
    assert roll_back(history) == "a"
    with pytest.raises(NotDelivered):
        history.target(None)


@pytest.mark.parametrize(
    "outcome", [DeliveryOutcome.FAILED, DeliveryOutcome.WRONG, DeliveryOutcome.UNFINISHED]
)
def test_rollback_after_a_failure_goes_to_the_last_success(
    history: History, outcome: DeliveryOutcome
) -> None:
    deliver(history, "a", "b")
    deliver(history, "c", outcome=outcome)
    assert roll_back(history) == "b"


def test_failed_rollback_can_be_repeated(history: History) -> None:
    deliver(history, "a", "b")
    assert roll_back(history, outcome=DeliveryOutcome.FAILED) == "a"
    assert roll_back(history) == "a"


def test_rollback_target_by_abbreviated_commit(history: History) -> None:
    deliver(history, "aa1", "bb1")
    roll_back(history)
    assert history.target("bb").commit == "bb1"
    with pytest.raises(NotDelivered, match="no commit cc was delivered to prod"):
        history.target("cc")


def test_failed_delivery_is_no_rollback_target(history: History) -> None:
    deliver(history, "a")
    deliver(history, "b", outcome=DeliveryOutcome.FAILED)
    with pytest.raises(NotDelivered, match="has: b, a"):
        history.target("b")


def test_failures_do_not_push_out_the_last_success(history: History) -> None:
    deliver(history, "a", "b")
    failures = (f"c{number}" for number in range(2 * MAX_ENTRIES))
    deliver(history, *failures, outcome=DeliveryOutcome.FAILED)
    assert history.target(None).commit == "b"


def test_last_ten_deliveries_are_kept(history: History, ssm: FakeSsm) -> None:
    deliver(history, *(f"{number:040}" for number in range(MAX_ENTRIES + 5)))
    assert [delivery["commit"] for delivery in json.loads(ssm.values[-1])["deliveries"]] == [
        f"{number:040}" for number in range(5, MAX_ENTRIES + 5)
    ]


def test_repeated_commit_counts_once(history: History) -> None:
    deliver(history, "a", *["b"] * (MAX_ENTRIES + 1))
    assert roll_back(history) == "a"


def test_live_commit_may_be_wrong_or_started_but_not_failed(history: History) -> None:
    deliver(history, "a")
    deliver(history, "b", outcome=DeliveryOutcome.FAILED)
    assert live_commit(history) == "a"
    deliver(history, "c", outcome=DeliveryOutcome.WRONG)
    assert live_commit(history) == "c"
    history.begin("d")
    assert live_commit(history) == "d"


def test_end_keeps_a_delivery_that_took_over(history: History, ssm: FakeSsm) -> None:
    deliver(history, "a")
    history.begin("b")
    new_history(ssm).begin("c", take_over=True)
    with pytest.raises(NotDelivered, match="a delivery of commit c to prod began later"):
        history.refuse_superseded()
    history.end(DeliveryOutcome.DELIVERED)
    assert outcomes(history) == [
        ("a", DeliveryOutcome.DELIVERED),
        ("b", DeliveryOutcome.DELIVERED),
        ("c", DeliveryOutcome.STARTED),
    ]


def test_second_delivery_is_refused_until_the_first_ends(history: History, ssm: FakeSsm) -> None:
    history.begin("a")
    history.refuse_superseded()
    other = new_history(ssm)
    with pytest.raises(NotDelivered, match=r"commit a to prod is in progress .*TAKE_OVER=1$"):
        other.begin("b")
    history.end(DeliveryOutcome.UNFINISHED)  # as Ctrl-C does
    other.begin("b")
    assert [delivery.commit for delivery in history.deliveries()] == ["a", "b"]


def test_killed_delivery_is_continued_or_times_out(history: History, ssm: FakeSsm) -> None:
    history.begin("a")
    other = new_history(ssm)
    other.begin("a")
    other.refuse_superseded()
    history.refuse_superseded()
    start = (datetime.now(UTC) - stage_record.MAX_DURATION).isoformat()
    killed = {"commit": "b", "time": start, "outcome": "started"}
    ssm.values = [json.dumps({"deliveries": [killed]})]
    other.begin("c")


@pytest.mark.parametrize("before", [(), ("a",)], ids=["first delivery", "later delivery"])
def test_later_write_of_two_simultaneous_deliveries_wins(
    before: tuple[str, ...], history: History, ssm: FakeSsm
) -> None:
    deliver(history, *before)
    first, second = new_history(ssm), new_history(ssm)
    ssm.before_put.append(lambda: first.begin("b"))
    second.begin("c")
    with pytest.raises(NotDelivered, match="a delivery of commit c to prod began later"):
        first.refuse_superseded()
    first.end(DeliveryOutcome.FAILED)
    second.refuse_superseded()
    second.end(DeliveryOutcome.DELIVERED)
    assert live_commit(history) == "c"


def test_failed_repetition_keeps_the_live_commit(history: History) -> None:
    deliver(history, "a", "b")
    deliver(history, "b", outcome=DeliveryOutcome.FAILED)
    assert live_commit(history) == "b"


def test_invalid_entries_are_ignored_with_a_warning(
    history: History, ssm: FakeSsm, capsys: pytest.CaptureFixture[str]
) -> None:
    deliver(history, "a")
    record = json.loads(ssm.values[-1])
    record["deliveries"] += [9999, {"commit": "b", "time": "then", "outcome": "delivered"}]
    ssm.values.append(json.dumps(record))
    assert live_commit(history) == "a"
    warnings = capsys.readouterr().err.splitlines()
    assert [warning.partition(" is invalid")[0] for warning in warnings] == [
        f"! /triton/prod/delivered: delivery {number}" for number in (2, 3)
    ]


def test_invalid_parameter_refuses_every_delivery(history: History, ssm: FakeSsm) -> None:
    ssm.values = ["9999"]
    with pytest.raises(NotDelivered, match="get-parameter-history --name /triton/prod/delivered"):
        history.begin("a")
    assert ssm.values == ["9999"]


def test_end_is_recorded_after_the_record_was_deleted(history: History, ssm: FakeSsm) -> None:
    history.begin("a")
    ssm.values.append('{"deliveries": []}')
    history.end(DeliveryOutcome.DELIVERED)
    assert outcomes(history) == [("a", DeliveryOutcome.DELIVERED)]
