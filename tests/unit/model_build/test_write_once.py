"""Conditional writes to S3: one of several concurrent writers succeeds."""

from typing import Any
from unittest.mock import Mock

import pytest
from botocore.exceptions import ClientError

from model_build.write_once import TRIES, write_once
from tests.unit.model_build.fakes import FakeS3, client_error


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Seconds of each pause between attempts; nothing sleeps."""
    seconds: list[float] = []
    monkeypatch.setattr("model_build.write_once.time.sleep", seconds.append)
    return seconds


def _write(s3: FakeS3, body: bytes = b"{}") -> bool:
    return write_once(s3.client, bucket="bucket", key="a.json", body=body)


def test_denied_write_raises(s3: FakeS3) -> None:
    s3.hooks["PutObject"] = Mock(side_effect=client_error("PutObject", "AccessDenied"))
    with pytest.raises(ClientError, match="AccessDenied"):
        _write(s3)


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
    assert _write(s3) is not other_succeeds
    assert len(pauses) == 1


def test_permanent_conflict_raises(s3: FakeS3, pauses: list[float]) -> None:
    s3.hooks["PutObject"] = Mock(
        side_effect=client_error("PutObject", "ConditionalRequestConflict")
    )
    with pytest.raises(ClientError, match="ConditionalRequestConflict"):
        _write(s3)
    assert len(pauses) == TRIES - 1
