"""The record of deliveries in the stage's bucket: what is live, undone, refused and kept."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from botocore.exceptions import EndpointConnectionError

from delivery.deliver import refuse_older_release, require_delivered_release
from delivery.deploy import StageDeployment
from delivery.drift import last_delivery, stacks_deployed_by_hand
from delivery.errors import (
    ChangedByHand,
    FaultyDeployment,
    NotDelivered,
    RollbackFailed,
    Unfinished,
)
from delivery.record import History
from endpoint_client import EndpointError
from plan import stage_record
from plan.archives import ArchiveReplaced
from plan.stage_record import DELIVER, MAX_RELEASES, ROLLBACK, Deliveries, DeliveryOutcome, Event
from platform_facts.rules.bucket_keys import RELEASES
from release.artefact import ReleaseArtefact
from tests.unit.delivery.fakes import FakeAws
from tests.unit.model_build.fakes import FakeS3, client_error

MINUTES = count()
START = datetime.now(UTC) - timedelta(days=1)
RELEASE = ReleaseArtefact(Path(), {}, commit="c" * 40, ancestors=("b" * 40, "a" * 40))
Deliver = Callable[..., None]


@pytest.fixture
def s3() -> FakeS3:
    return FakeS3()


@pytest.fixture
def history(s3: FakeS3) -> History:
    return History("prod", lambda: s3.bucket)


@pytest.fixture
def deliver(s3: FakeS3) -> Deliver:
    """Record deliveries of releases, one minute after the other."""

    def record(*releases: str, result: str = "delivered", **fields: Any) -> None:
        for release in releases:
            begun = START + timedelta(minutes=next(MINUTES))
            values: dict[str, Any] = {
                "action": DELIVER,
                "begun": begun.isoformat(),
                "commit": f"0{release}",
            }
            values |= {"stage": "prod", "who": "ada", "versions": {}, "release": release, **fields}
            event = Event(**values)
            stage_record.write(s3.client, "bucket", event)
            if result != "started":
                stage_record.write(s3.client, "bucket", event.end(result))

    return record


def live(history: History) -> str | None:
    event = history.deliveries().live()
    assert event
    return event.release


def test_rollbacks_go_further_and_further_back(history: History, deliver: Deliver) -> None:
    with pytest.raises(NotDelivered, match=r"no earlier release .* record has: none"):
        history.rollback_target(None)
    deliver("a", "b", "b", "c")
    for target in "b", "a":
        assert history.rollback_target(None).release == target
        deliver(target, action=ROLLBACK)
        assert live(history) == target
    with pytest.raises(NotDelivered, match=r"no earlier release .* has: release a \(commit 0a\)"):
        history.rollback_target(None)
    assert history.rollback_target("c").release == history.rollback_target("0c").release == "c"
    with pytest.raises(NotDelivered, match="no release or commit d"):
        history.rollback_target("d")
    deliver("b", action=ROLLBACK, result="failed")  # changed nothing
    assert live(history) == "a"


@pytest.mark.parametrize("result", ["failed", "wrong", "unfinished", "changed by hand"])
def test_default_target_is_the_last_success(
    history: History, deliver: Deliver, result: str
) -> None:
    deliver("a", "b")
    deliver("c", result=result)
    assert history.rollback_target(None).release == "b"
    assert live(history) == ("b" if result == "failed" else "c")
    deliver("b", result="failed")
    assert history.rollback_target(None).release == "b"


def test_failed_rollback_is_repeated(history: History, deliver: Deliver) -> None:
    deliver("a", "b")
    deliver("a", action=ROLLBACK, result="failed")
    assert history.rollback_target(None).release == "a"


def test_nothing_is_delivered_over_a_deleted_record(history: History, s3: FakeS3) -> None:
    assert history.refuse_in_progress("a") is None
    s3.bucket.write_once(f"{RELEASES}b.json", b"{}")
    with pytest.raises(NotDelivered, match="record of deliveries was deleted"):
        history.refuse_in_progress("a")
    assert history.refuse_in_progress("a", take_over=True) is None


def test_other_events_are_not_read(history: History, deliver: Deliver, s3: FakeS3) -> None:
    """Publications are many. Of deliveries, those of ten releases are read."""
    deliver("z", *map(str, range(MAX_RELEASES)))
    deliver("9", "9", result="failed")
    deliver("p", action="publish")
    s3.calls.clear()
    releases = [event.release for event in history.deliveries().entries]
    assert releases == [*map(str, range(MAX_RELEASES)), "9", "9"]
    assert s3.calls.count("GetObject") == 2 * len(releases)


def test_second_delivery_is_refused_until_the_first_ends(
    history: History, deliver: Deliver
) -> None:
    deliver("a", result="started", begun=datetime.now(UTC).isoformat())
    history.refuse_in_progress("a")  # continues it
    history.refuse_in_progress("b", take_over=True)
    with pytest.raises(NotDelivered, match=r"release a \(commit .* in progress .*TAKE_OVER=1$"):
        history.refuse_in_progress("b")
    deliver("c", begun=datetime.now(UTC).isoformat())
    live_delivery = history.refuse_in_progress("b")
    assert live_delivery
    assert live_delivery.release == "c"


@pytest.mark.parametrize(
    ("result", "by_hand"), [("delivered", ["prod-text"]), ("unfinished", []), ("started", [])]
)
def test_no_stack_is_deployed_by_hand_after_an_unfinished_delivery(
    deliver: Deliver, s3: FakeS3, aws: FakeAws, result: str, by_hand: list[str]
) -> None:
    """CloudFormation, which goes on, changes the templates."""
    deliver("a")
    digests = {} if result == "started" else {"prod-text": "another digest"}
    deliver("b", result=result, stacks=digests)
    client: Any = aws
    assert stacks_deployed_by_hand(client, last_delivery(s3.bucket)) == by_hand


def test_killed_delivery_expires(history: History, deliver: Deliver) -> None:
    begun = datetime.now(UTC) - stage_record.MAX_DURATION
    deliver("a", result="started", begun=begun.isoformat())
    history.refuse_in_progress("b")


@pytest.mark.parametrize(("result", "is_superseded"), [("started", True), ("failed", False)])
def test_earlier_of_two_simultaneous_deliveries_ends(
    history: History, deliver: Deliver, result: str, is_superseded: bool
) -> None:
    deliver("a")
    deliver("b", result="started")
    history.refuse_superseded("b")
    deliver("c", result=result)
    if is_superseded:
        history.refuse_superseded("c")
        with pytest.raises(NotDelivered, match=r"a delivery of release c .* started later"):
            history.refuse_superseded("b")
    else:
        history.refuse_superseded("b")


@pytest.fixture
def deployment(
    stage_deployment: StageDeployment, aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> StageDeployment:
    identity = {"Arn": "arn:aws:iam::123456789012:user/ada", "Account": "123456789012"}
    monkeypatch.setattr(aws, "get_caller_identity", lambda: identity)
    return stage_deployment


def end_delivery(
    history: History, deployment: StageDeployment, error: BaseException | None = None
) -> None:
    with history.record(deployment, DELIVER, commit="a" * 40, release="1"):
        if error:
            raise error


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (None, DeliveryOutcome.DELIVERED),
        (RollbackFailed("no"), DeliveryOutcome.WRONG),
        (ChangedByHand("no"), DeliveryOutcome.CHANGED_BY_HAND),
        (Unfinished("no"), DeliveryOutcome.UNFINISHED),
        (ArchiveReplaced("b", "a.tar.gz", "A-1", "B-1"), DeliveryOutcome.FAILED),
        (EndpointError("no"), DeliveryOutcome.FAILED),
        (client_error("ListStacks", "AccessDenied"), DeliveryOutcome.FAILED),
        (EndpointConnectionError(endpoint_url="ssm"), DeliveryOutcome.FAILED),
        (AssertionError(), DeliveryOutcome.UNFINISHED),
        (KeyboardInterrupt(), DeliveryOutcome.UNFINISHED),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_every_end_of_a_delivery_is_recorded(
    error: BaseException | None, result: str, deployment: StageDeployment, history: History
) -> None:
    """A delivery in progress would block the others for six hours."""
    if error:
        raised = Unfinished if isinstance(error, KeyboardInterrupt) else type(error)
        with pytest.raises(raised):
            end_delivery(history, deployment, error)
    else:
        end_delivery(history, deployment)
    (event,) = history.deliveries().entries
    assert (event.result, event.release) == (result, "1")
    assert bool(event.message) is bool(error)


def test_refused_delivery_is_not_recorded(
    deployment: StageDeployment, history: History, deliver: Deliver
) -> None:
    deliver("b", result="started", begun=datetime.now(UTC).isoformat())
    with pytest.raises(NotDelivered, match="is in progress since"):
        end_delivery(history, deployment, AssertionError())
    assert [event.release for event in history.deliveries().entries] == ["b"]


def test_error_while_recording_does_not_replace_the_delivery_error(
    deployment: StageDeployment, history: History, s3: FakeS3, capsys: pytest.CaptureFixture[str]
) -> None:
    def expire(_: dict[str, Any]) -> None:
        s3.hooks["PutObject"] = Mock(side_effect=client_error("PutObject", "ExpiredToken"))

    s3.hooks["PutObject"] = expire  # after the start is recorded
    with pytest.raises(FaultyDeployment, match="Y differs"):
        end_delivery(history, deployment, FaultyDeployment("Y differs"))
    assert "! history/ does not have the result 'wrong'" in capsys.readouterr().out


def event(release: str = "1" * 64, commit: str = "a") -> Event:
    return Event(stage="prod", action=DELIVER, who="ada", versions={}, release=release,
                 commit=40 * commit, begun="2026-11-22T03:00:00+00:00")  # fmt: skip


def test_release_that_lacks_the_live_commit_is_refused() -> None:
    older = ReleaseArtefact(Path(), {}, commit="0" * 40, ancestors=("e" * 40,))
    with pytest.raises(NotDelivered, match=r"(?s)prod serves release 1{12} \(commit a{12}\), .*no"
                       "t among the last 1 commits of this release.*ALLOW_OLDER=1"):  # fmt: skip
        refuse_older_release(older, "prod", event())


@pytest.mark.parametrize(
    "live",
    [None, event(), event(commit="c"), event(RELEASE.digest, "e")],
    ids=["nothing", "an ancestor", "the same commit", "the same release of a squashed commit"],
)
def test_release_that_contains_the_live_commit_is_accepted(live: Event | None) -> None:
    refuse_older_release(RELEASE, "prod", live)


def test_only_a_delivered_release_is_promoted(history: History, deliver: Deliver) -> None:
    """Another release of the same commit may have been delivered: the digest decides."""

    def refuse(reason: str) -> None:
        with pytest.raises(NotDelivered, match=f"{reason} prod, .*make deliver STAGE=prod"):
            require_delivered_release(history, RELEASE)

    deliver("b")
    refuse("was not delivered to")
    deliver(RELEASE.digest, result="wrong")
    refuse("ended as 'wrong' in")
    deliver(RELEASE.digest)
    deliver("b", result="wrong")
    require_delivered_release(history, RELEASE)
    deliver("b", action=ROLLBACK)
    refuse("was rolled back in")


def test_first_delivery_has_no_bucket() -> None:
    history = History("prod", lambda: None)
    assert history.deliveries() == Deliveries()
    history.refuse_superseded("1")
