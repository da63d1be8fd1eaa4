"""Corrections of ministack's S3."""

import errno
import importlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ministack.services import s3

from local_sagemaker import s3_corrections

BODY = b"the content of an object"


@pytest.fixture(autouse=True)
def _installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The reset S3 module of ministack, which stores objects as files, with a bucket."""
    importlib.reload(s3)
    filters = list(s3.logger.filters)
    monkeypatch.setattr(s3, "S3_PERSIST", True)
    monkeypatch.setattr(s3, "DATA_DIR", str(tmp_path))
    s3_corrections.patch(s3)
    assert request("PUT", "")[0] == 200
    yield
    s3.logger.filters[:] = filters
    importlib.reload(s3)


def request(method: str, key: str, body: bytes = b"") -> tuple[int, bytes]:
    status, _, answer = s3._dispatch(method, "bucket", key, {}, body, {})
    return status, answer


def test_object_that_cannot_be_written_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    assert request("PUT", "stored", BODY)[0] == 200

    def fail(*_: Any, **__: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as full_disk:
        full_disk.setattr(s3, "_atomic_write", fail)
        status, answer = request("PUT", "lost", BODY)
    assert status == 500
    assert b"InternalError" in answer
    assert b"No space left on device" in answer
    assert request("GET", "stored") == (200, BODY)


def test_object_whose_file_is_gone_is_an_error(tmp_path: Path) -> None:
    assert request("PUT", "key", BODY)[0] == 200
    (stored,) = (path for path in tmp_path.rglob("key") if path.is_file())
    stored.unlink()
    assert request("GET", "key")[0] == 500
