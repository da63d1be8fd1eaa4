"""Tests of the record of a delivery."""

from typing import Any, cast
from unittest.mock import Mock

import pytest
from botocore.exceptions import EndpointConnectionError

from delivery.bucket import ArchiveBucket
from delivery.deploy import StageDeployment
from delivery.errors import (
    ChangedByHand,
    FaultyDeployment,
    NotDelivered,
    RollbackFailed,
    Unfinished,
)
from delivery.record import History, record_delivery
from endpoint_client import EndpointError
from plan import stage_record
from plan.stage_record import DeliveryOutcome
from tests.unit.delivery.fakes import FakeAws, FakeSsm
from tests.unit.model_build.fakes import FakeS3, client_error


@pytest.fixture
def s3(stage_deployment: StageDeployment, aws: FakeAws, monkeypatch: pytest.MonkeyPatch) -> FakeS3:
    s3 = FakeS3()
    bucket = ArchiveBucket(s3.client, "bucket")
    monkeypatch.setattr(StageDeployment, "bucket", property(lambda _: bucket))
    identity = {"Arn": "arn:aws:iam::123456789012:user/ada", "Account": "123456789012"}
    monkeypatch.setattr(aws, "get_caller_identity", lambda: identity)
    return s3


@pytest.fixture
def ssm() -> FakeSsm:
    return FakeSsm()


@pytest.fixture
def history(ssm: FakeSsm) -> History:
    return History(cast(Any, ssm), "prod")


def results(s3: FakeS3) -> list[tuple[str, str]]:
    return [(event.result, event.message) for event in stage_record.read(s3.client, "bucket")]


@pytest.mark.parametrize(
    ("error", "result", "outcome"),
    [
        (RollbackFailed("no"), "wrong", DeliveryOutcome.WRONG),
        (ChangedByHand("no"), "changed by hand", DeliveryOutcome.WRONG),
        (Unfinished("no"), "unfinished", DeliveryOutcome.UNFINISHED),
        (EndpointError("no"), "failed", DeliveryOutcome.FAILED),
        (client_error("ListStacks", "AccessDenied"), "failed", DeliveryOutcome.FAILED),
        (EndpointConnectionError(endpoint_url="ssm"), "failed", DeliveryOutcome.FAILED),
        (AssertionError(), "unfinished", DeliveryOutcome.UNFINISHED),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_every_error_ends_the_delivery(
    error: BaseException,
    result: str,
    outcome: DeliveryOutcome,
    stage_deployment: StageDeployment,
    history: History,
    s3: FakeS3,
) -> None:
    """A delivery in progress would block the others for six hours."""
    with (
        pytest.raises(type(error)),
        record_delivery(stage_deployment, history, "deliver", "a" * 40),
    ):
        raise error
    ((event_result, message),) = results(s3)
    assert event_result == result
    assert message
    assert [delivery.outcome for delivery in history.deliveries()] == [outcome]


def test_interrupted_delivery_is_unfinished(
    stage_deployment: StageDeployment, history: History, s3: FakeS3
) -> None:
    with (
        pytest.raises(Unfinished, match=r"^interrupted$"),
        record_delivery(stage_deployment, history, "deliver", "a" * 40),
    ):
        raise KeyboardInterrupt
    assert results(s3) == [("unfinished", "KeyboardInterrupt")]


def test_refused_delivery_is_not_recorded(
    stage_deployment: StageDeployment, history: History, s3: FakeS3, ssm: FakeSsm
) -> None:
    other_history = History(cast(Any, ssm), "prod")
    other_history.record_start("b" * 40)
    with (
        pytest.raises(NotDelivered, match="is in progress since"),
        record_delivery(stage_deployment, history, "deliver", "a" * 40),
    ):
        raise AssertionError
    assert results(s3) == []
    other_history.refuse_superseded()


def test_error_while_recording_does_not_replace_the_delivery_error(
    stage_deployment: StageDeployment,
    history: History,
    s3: FakeS3,
    ssm: FakeSsm,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def end_wrong() -> None:
        ssm.before_put.append(Mock(side_effect=client_error("PutParameter", "ExpiredToken")))
        raise FaultyDeployment("Y differs")

    s3.hooks["PutObject"] = Mock(side_effect=client_error("PutObject", "AccessDenied"))
    with (
        pytest.raises(FaultyDeployment, match="Y differs"),
        record_delivery(stage_deployment, history, "deliver", "a" * 40),
    ):
        end_wrong()
    printed = capsys.readouterr().out
    assert printed.count("history/ does not have the result") == 2
    assert printed.count("/triton/prod/delivered still has this delivery as in progress") == 1
