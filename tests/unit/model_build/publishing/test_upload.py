"""Multipart uploads: no overwritten key, and no parts left behind after a failure."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from model_build.publishing import upload
from tests.unit.model_build.fakes import FakeS3, client_error

KEY = "text/cpu-24.09/minilm-abc.tar.gz"


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(upload, "PART_BYTES", 10)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "archive.tar.gz"
    path.write_bytes(bytes(range(35)))
    return path


def _upload(s3: FakeS3, file: Path) -> bool:
    return upload.upload(s3.bucket, file, key=KEY)


def test_existing_key_is_not_overwritten(s3: FakeS3, file: Path) -> None:
    s3.objects[KEY] = {"Body": b"older"}
    assert not _upload(s3, file)
    assert s3.objects[KEY] == {"Body": b"older"}
    assert s3.unfinished == {}


@pytest.mark.parametrize("part", [1, 3, 4])
def test_failed_part_aborts_the_upload(s3: FakeS3, file: Path, part: int) -> None:
    def fail(request: dict[str, Any]) -> None:
        if request["PartNumber"] == part:
            raise client_error("UploadPart", "BadDigest")

    s3.hooks["UploadPart"] = fail
    with pytest.raises(ClientError, match="BadDigest"):
        _upload(s3, file)
    assert s3.objects == {}
    assert s3.unfinished == {}
    assert s3.calls.count("AbortMultipartUpload") == 1


def test_upload_is_aborted_after_its_last_part(
    s3: FakeS3, file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # S3 keeps a part that arrives after the abort.
    part_started, may_end = threading.Event(), threading.Event()
    events: list[str] = []

    class Pool(ThreadPoolExecutor):
        def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
            may_end.set()
            super().shutdown(wait, cancel_futures=cancel_futures)

    def send(request: dict[str, Any]) -> None:
        if request["PartNumber"] == 1:
            part_started.wait()
            raise client_error("UploadPart", "BadDigest")
        part_started.set()
        may_end.wait()
        events.append("part sent")

    def abort(request: dict[str, Any]) -> None:
        events.append("aborted")
        may_end.set()  # otherwise a wrong order would hang the test

    monkeypatch.setattr("plan.archives.ThreadPoolExecutor", Pool)
    s3.hooks.update(UploadPart=send, AbortMultipartUpload=abort)
    with pytest.raises(ClientError, match="BadDigest"):
        _upload(s3, file)
    assert (events[0], events[-1]) == ("part sent", "aborted")


def test_unfinished_uploads_of_the_key_are_aborted(s3: FakeS3, file: Path) -> None:
    for key in (KEY, f"{KEY}.other", KEY, "text/cpu-24.09/other.tar.gz", KEY):
        s3.create_multipart_upload(Bucket="bucket", Key=key, ChecksumAlgorithm="SHA256")
    _upload(s3, file)
    assert sorted(request["Key"] for request in s3.unfinished.values()) == [
        "text/cpu-24.09/minilm-abc.tar.gz.other",
        "text/cpu-24.09/other.tar.gz",
    ]
    assert s3.objects[KEY]["Body"] == file.read_bytes()
