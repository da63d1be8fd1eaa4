"""Writes to the bucket of archives: one of several concurrent writers succeeds."""

from typing import Any
from unittest.mock import Mock

import pytest
from botocore.exceptions import ClientError

from plan.archives import TRIES
from tests.unit.model_build.fakes import FakeS3, client_error


@pytest.fixture
def s3() -> FakeS3:
    return FakeS3()


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds of each pause between attempts; nothing sleeps."""
    seconds: list[float] = []
    monkeypatch.setattr("plan.archives.time.sleep", seconds.append)
    return seconds


def test_denied_write_raises(s3: FakeS3) -> None:
    s3.hooks["PutObject"] = Mock(side_effect=client_error("PutObject", "AccessDenied"))
    with pytest.raises(ClientError, match="AccessDenied"):
        s3.bucket.write_once("a.json", b"{}")


@pytest.mark.parametrize("other_succeeds", [True, False])
def test_conflict_is_retried_after_a_pause(
    s3: FakeS3, pauses: list[float], other_succeeds: bool
) -> None:
    def conflict(request: dict[str, Any]) -> None:
        del s3.hooks["PutObject"]
        if other_succeeds:
            s3.objects["a.json"] = {"Body": b"theirs"}
        raise client_error("PutObject", "ConditionalRequestConflict")

    s3.hooks["PutObject"] = conflict
    assert s3.bucket.write_once("a.json", b"{}") is not other_succeeds
    assert len(pauses) == 1


def test_permanent_conflict_raises(s3: FakeS3, pauses: list[float]) -> None:
    s3.hooks["PutObject"] = Mock(
        side_effect=client_error("PutObject", "ConditionalRequestConflict")
    )
    with pytest.raises(ClientError, match="ConditionalRequestConflict"):
        s3.bucket.write_once("a.json", b"{}")
    assert len(pauses) == TRIES - 1
