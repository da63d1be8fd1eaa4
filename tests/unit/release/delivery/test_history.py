import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

import pytest

import stage_record
from release.delivery.errors import NotDelivered
from release.delivery.history import KEPT, History
from stage_record import DeliveryOutcome
from tests.unit.release.delivery.fakes import FakeSsm

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient


@pytest.fixture
def ssm() -> FakeSsm:
    return FakeSsm()


@pytest.fixture
def history(ssm: FakeSsm) -> History:
    return other_laptop(ssm)


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


def test_a_stage_without_deliveries_cannot_be_rolled_back(history: History) -> None:
    with pytest.raises(NotDelivered, match="/triton/prod/delivered has: none"):
        history.target(None)


def test_the_only_delivery_cannot_be_rolled_back(history: History) -> None:
    deliver(history, "a" * 40)
    with pytest.raises(NotDelivered, match=f"no earlier commit was .* has: {'a' * 12}. Check"):
        history.target(None)


def test_a_wrong_delivery_serves_until_a_later_one_has_succeeded(history: History) -> None:
    deliver(history, "a")
    deliver(history, "b", outcome=DeliveryOutcome.WRONG)
    deliver(history, "c", outcome=DeliveryOutcome.FAILED)
    live = history.live()
    assert live
    assert live.commit == "b"
    deliver(history, "d", "e")
    assert [delivery.commit for delivery in history.deliveries()] == ["a", "d", "e"]


def test_each_rollback_goes_one_delivery_further_back(history: History) -> None:
    deliver(history, "a", "b", "c")
    assert roll_back(history) == "b"
    assert roll_back(history) == "a"
    with pytest.raises(NotDelivered):
        history.target(None)


def test_a_commit_that_was_delivered_twice_counts_once(history: History) -> None:
    deliver(history, "a", "b", "b")
    assert roll_back(history) == "a"


@pytest.mark.parametrize("outcome", [DeliveryOutcome.FAILED, DeliveryOutcome.WRONG])
def test_after_a_failure_a_rollback_goes_to_the_last_that_succeeded(
    history: History, outcome: DeliveryOutcome
) -> None:
    deliver(history, "a", "b")
    deliver(history, "c", outcome=outcome)
    assert roll_back(history) == "b"


def test_after_an_interrupted_delivery_too(history: History) -> None:
    deliver(history, "a", "b")
    deliver(history, "c", outcome=DeliveryOutcome.UNFINISHED)
    assert roll_back(history) == "b"


def test_a_rollback_that_failed_can_be_tried_again(history: History) -> None:
    deliver(history, "a", "b")
    assert roll_back(history, outcome=DeliveryOutcome.FAILED) == "a"
    assert roll_back(history) == "a"


def test_what_was_rolled_back_can_be_named(history: History) -> None:
    deliver(history, "aa1", "bb1")
    roll_back(history)
    assert history.target("bb").commit == "bb1"
    with pytest.raises(NotDelivered, match="no commit cc was delivered to prod"):
        history.target("cc")


def test_what_failed_is_not_rolled_back_to_even_by_name(history: History) -> None:
    deliver(history, "a")
    deliver(history, "b", outcome=DeliveryOutcome.FAILED)
    with pytest.raises(NotDelivered, match="has: b, a"):
        history.target("b")


def test_however_many_fail_the_last_that_succeeded_is_kept(history: History) -> None:
    deliver(history, "a", "b")
    deliver(history, *(f"c{number}" for number in range(2 * KEPT)), outcome=DeliveryOutcome.FAILED)
    assert history.target(None).commit == "b"


def test_the_last_ten_are_kept(history: History, ssm: FakeSsm) -> None:
    deliver(history, *(f"{number:040}" for number in range(KEPT + 5)))
    assert [delivery["commit"] for delivery in json.loads(ssm.values[-1])["deliveries"]] == [
        f"{number:040}" for number in range(5, KEPT + 5)
    ]


def test_the_same_commit_many_times_is_one_step(history: History) -> None:
    deliver(history, "a", *["b"] * (KEPT + 1))
    assert roll_back(history) == "a"


def test_what_failed_does_not_serve_and_what_is_wrong_or_begun_may(history: History) -> None:
    deliver(history, "a")
    deliver(history, "b", outcome=DeliveryOutcome.FAILED)
    assert served(history) == "a"
    deliver(history, "c", outcome=DeliveryOutcome.WRONG)
    assert served(history) == "c"
    history.begin("d")
    assert served(history) == "d"


def served(history: History) -> str:
    live = history.live()
    assert live
    return live.commit


def other_laptop(ssm: FakeSsm) -> History:
    return History(cast("SSMClient", ssm), "prod")


def listed(history: History) -> list[tuple[str, DeliveryOutcome]]:
    return [(past.commit, past.outcome) for past in history.deliveries()]


def test_a_delivery_that_ends_keeps_what_took_it_over(history: History, ssm: FakeSsm) -> None:
    deliver(history, "a")
    history.begin("b")
    other_laptop(ssm).begin("c", take_over=True)
    with pytest.raises(NotDelivered, match="a delivery of commit c to prod has begun since"):
        history.refuse_superseded()
    history.end(DeliveryOutcome.DELIVERED)
    assert listed(history) == [
        ("a", DeliveryOutcome.DELIVERED),
        ("b", DeliveryOutcome.DELIVERED),
        ("c", DeliveryOutcome.STARTED),
    ]


def test_one_delivery_at_a_time_begins(history: History, ssm: FakeSsm) -> None:
    history.begin("a")
    history.refuse_superseded()
    other = other_laptop(ssm)
    with pytest.raises(NotDelivered, match=r"commit a to prod is in progress .*TAKE_OVER=1$"):
        other.begin("b")
    history.end(DeliveryOutcome.UNFINISHED)  # as Ctrl-C ends it: it does not keep others waiting
    other.begin("b")
    assert [delivery.commit for delivery in history.deliveries()] == ["a", "b"]


def test_a_delivery_that_was_killed_is_continued_by_its_own_commit_or_ends_by_itself(
    history: History, ssm: FakeSsm
) -> None:
    history.begin("a")
    other = other_laptop(ssm)
    other.begin("a")
    other.refuse_superseded()
    history.refuse_superseded()
    began = (datetime.now(UTC) - stage_record.MAX_DURATION).isoformat()
    killed = {"commit": "b", "time": began, "outcome": "started"}
    ssm.values = [json.dumps({"deliveries": [killed]})]
    other.begin("c")


@pytest.mark.parametrize("before", [(), ("a",)], ids=["the first", "a later one"])
def test_of_two_deliveries_that_begin_at_the_same_time_the_later_write_goes_on(
    before: tuple[str, ...], history: History, ssm: FakeSsm
) -> None:
    """Both have read that none is in progress."""
    deliver(history, *before)
    first, second = other_laptop(ssm), other_laptop(ssm)
    ssm.before_put.append(lambda: first.begin("b"))
    second.begin("c")
    with pytest.raises(NotDelivered, match="a delivery of commit c to prod has begun since"):
        first.refuse_superseded()
    first.end(DeliveryOutcome.FAILED)
    second.refuse_superseded()
    second.end(DeliveryOutcome.DELIVERED)
    assert served(history) == "c"


def test_the_live_commit_stays_when_its_repetition_fails(history: History) -> None:
    """A delivery of an older commit would have been let through."""
    deliver(history, "a", "b")
    deliver(history, "b", outcome=DeliveryOutcome.FAILED)
    assert served(history) == "b"


def test_broken_entries_are_left_out_and_named(
    history: History, ssm: FakeSsm, capsys: pytest.CaptureFixture[str]
) -> None:
    deliver(history, "a")
    record = json.loads(ssm.values[-1])
    record["deliveries"] += [9999, {"commit": "b", "time": "then", "outcome": "delivered"}]
    ssm.values.append(json.dumps(record))
    assert served(history) == "a"
    warnings = capsys.readouterr().err.splitlines()
    assert [warning.partition(" is invalid")[0] for warning in warnings] == [
        f"! /triton/prod/delivered: delivery {number}" for number in (2, 3)
    ]


def test_a_parameter_that_is_no_list_of_deliveries_lets_none_begin(
    history: History, ssm: FakeSsm
) -> None:
    """Nobody knows whether one is in progress, or which versions must be kept."""
    ssm.values = ["9999"]
    with pytest.raises(NotDelivered, match="get-parameter-history --name /triton/prod/delivered"):
        history.begin("a")
    assert ssm.values == ["9999"]


def test_a_delivery_whose_record_was_deleted_meanwhile_is_recorded(
    history: History, ssm: FakeSsm
) -> None:
    history.begin("a")
    ssm.values.append('{"deliveries": []}')
    history.end(DeliveryOutcome.DELIVERED)
    assert listed(history) == [("a", DeliveryOutcome.DELIVERED)]
