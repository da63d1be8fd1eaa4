"""Of all who write a key at once, one has written it."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from model_build.write_once import TRIES, write_once
from tests.unit.model_build.fakes import FakeS3, refusal


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What was waited, without waiting."""
    waited: list[float] = []
    monkeypatch.setattr("model_build.write_once.time.sleep", waited.append)
    return waited


def _write(s3: FakeS3, body: bytes = b"{}") -> bool:
    return write_once(s3.client, bucket="bucket", key="a.json", body=body)


@pytest.mark.parametrize("they_end", [True, False])
def test_while_another_write_is_under_way_nobody_was_first(
    s3: FakeS3, pauses: list[float], they_end: bool
) -> None:
    def conflict(request: dict[str, Any]) -> None:
        del s3.before["PutObject"]
        if they_end:
            s3.objects["a.json"] = {"Body": b"theirs"}
        raise refusal("PutObject", "ConditionalRequestConflict")

    s3.before["PutObject"] = conflict
    assert _write(s3) is not they_end
    assert len(pauses) == 1


def test_a_write_that_is_under_way_for_ever_is_an_error(s3: FakeS3, pauses: list[float]) -> None:
    def conflict(request: dict[str, Any]) -> None:
        raise refusal("PutObject", "ConditionalRequestConflict")

    s3.before["PutObject"] = conflict
    with pytest.raises(ClientError, match="ConditionalRequestConflict"):
        _write(s3)
    assert len(pauses) == TRIES - 1
