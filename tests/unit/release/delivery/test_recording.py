"""A delivery in the record, however it ends."""

from typing import Any

import pytest

import stage_record
from release.delivery.archive_bucket import ArchiveBucket
from release.delivery.deployment import Deployment
from release.delivery.errors import (
    ChangedByHand,
    DeliveredWrong,
    NotDelivered,
    RollbackFailed,
    Unfinished,
)
from release.delivery.recording import recorded
from tests.unit.model_build.fakes import FakeS3, refusal
from tests.unit.release.delivery.fakes import FakeAws


@pytest.fixture
def s3(delivered: Deployment, aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> FakeS3:
    s3 = FakeS3()
    bucket = ArchiveBucket(s3.client, "bucket")
    monkeypatch.setattr(Deployment, "bucket", property(lambda _: bucket))
    identity = {"Arn": "arn:aws:iam::123456789012:user/ada", "Account": "123456789012"}
    monkeypatch.setattr(aws, "get_caller_identity", lambda: identity)
    return s3


def ended(s3: FakeS3) -> list[tuple[str, str]]:
    return [(it.result, it.message) for it in stage_record.read(s3.client, "bucket")]


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (NotDelivered("no"), "failed"),
        (DeliveredWrong("no"), "wrong"),
        (RollbackFailed("no"), "wrong"),
        (ChangedByHand("no"), "changed by hand"),
        (Unfinished("no"), "unfinished"),
    ],
    ids=lambda it: it if isinstance(it, str) else type(it).__name__,
)
def test_how_a_delivery_ended_is_recorded_with_its_reason(
    error: Exception, result: str, delivered: Deployment, s3: FakeS3
) -> None:
    with pytest.raises(type(error)), recorded(delivered, "deliver", "a" * 40):
        raise error
    assert ended(s3) == [(result, "no")]


def test_who_delivered_which_commit_is_recorded(delivered: Deployment, s3: FakeS3) -> None:
    with recorded(delivered, "rollback-stage", "a" * 40):
        assert ended(s3) == [("started", "")]
    (event,) = stage_record.read(s3.client, "bucket")
    assert (event.stage, event.action, event.commit) == ("prod", "rollback-stage", "a" * 40)
    assert (event.who, event.result) == ("arn:aws:iam::123456789012:user/ada", "delivered")


def test_what_cannot_be_recorded_does_not_change_how_a_delivery_ends(
    delivered: Deployment, s3: FakeS3, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_: Any) -> None:
        raise refusal("PutObject", "AccessDenied")

    s3.before["PutObject"] = refuse
    with recorded(delivered, "deliver", "a" * 40):
        pass
    assert capsys.readouterr().out.count("history/ does not have this delivery as") == 2
