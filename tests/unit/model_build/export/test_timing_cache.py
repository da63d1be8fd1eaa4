from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from model_build.export.timing_cache import BucketTimingCache, FolderTimingCache, TimingCache
from tests.unit.model_build.fakes import FakeS3, refusal

NAME = "NVIDIA-A10G-10.13.2.cache"


@pytest.fixture(params=["folder", "bucket"])
def cache(request: pytest.FixtureRequest, tmp_path: Path, s3: FakeS3) -> TimingCache:
    if request.param == "folder":
        return FolderTimingCache(tmp_path / "not" / "there" / "yet")
    return BucketTimingCache(s3.client, "bucket")


def test_what_was_never_stored_is_nothing(cache: TimingCache) -> None:
    assert cache.load(NAME) == b""


def test_what_was_stored_last_is_loaded(cache: TimingCache) -> None:
    for content in (b"\x00first", b"second"):
        cache.store(NAME, content)
        assert cache.load(NAME) == content
    assert cache.load("NVIDIA-L4-10.13.2.cache") == b""


def test_a_folder_keeps_it_for_the_next_process_and_no_half_file(tmp_path: Path) -> None:
    (tmp_path / f".{NAME}.partial").write_bytes(b"of a killed process")
    FolderTimingCache(tmp_path).store(NAME, b"content")
    assert FolderTimingCache(tmp_path).load(NAME) == b"content"
    assert [path.name for path in tmp_path.iterdir()] == [NAME]


def test_a_bucket_keeps_it_beside_the_endpoints_prefixes(s3: FakeS3) -> None:
    BucketTimingCache(s3.client, "bucket").store(NAME, b"content")
    assert list(s3.objects) == [f"timing-caches/{NAME}"]


def test_a_bucket_that_may_not_be_read_is_an_error(s3: FakeS3) -> None:
    def refuse(asked: dict[str, Any]) -> None:
        raise refusal("GetObject", "AccessDenied")

    s3.before["GetObject"] = refuse
    with pytest.raises(ClientError, match="AccessDenied"):
        BucketTimingCache(s3.client, "bucket").load(NAME)
