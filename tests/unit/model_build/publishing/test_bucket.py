"""Publication to a bucket: archive first, then manifest, never overwritten."""

import base64
import hashlib
import json
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import Mock

import pytest

from model_build import BuildError, archive
from model_build.build import Build
from model_build.publishing.bucket import publish
from model_build.publishing.upload import PART_BYTES
from model_build.triton_load import skip_load
from tests.unit.model_build.fakes import FakeS3, ProgressLines

KEY = "text/cpu-24.09/doubled-abc.tar.gz"
MANIFEST = "text/cpu-24.09/doubled-abc.json"


def _pack(finished_build: Build) -> bytes:
    with TemporaryDirectory() as scratch:
        archive_file = Path(scratch, "packed")
        archive.pack(finished_build.folder, archive_file)
        return archive_file.read_bytes()


def _checksum(content: bytes) -> str:
    """Return the composite SHA-256 that S3 stores for an object of one part."""
    digest = hashlib.sha256(hashlib.sha256(content).digest()).digest()
    return f"{base64.b64encode(digest).decode()}-1"


def _publish(s3: FakeS3, finished_build: Build) -> None:
    publish(s3.bucket, finished_build, key=KEY, load=skip_load("a test"), progress=ProgressLines())


def _is_published(s3: FakeS3) -> bool:
    return s3.bucket.is_complete(KEY)


def test_publish_writes_archive_and_manifest_with_checksums(
    s3: FakeS3, finished_build: Build
) -> None:
    assert not _is_published(s3)
    _publish(s3, finished_build)
    assert _is_published(s3)
    assert set(s3.objects) == {KEY, MANIFEST}
    body = s3.objects[KEY]["Body"]
    assert body == _pack(finished_build)
    recorded_archive = json.loads(s3.objects[MANIFEST]["Body"])["archive"]
    assert recorded_archive["sha256"] == hashlib.sha256(body).hexdigest()
    assert recorded_archive["bytes"] == len(body)
    assert recorded_archive["checksum"] == s3.objects[KEY]["ChecksumSHA256"] == _checksum(body)
    assert recorded_archive["part_bytes"] == PART_BYTES


def test_archive_other_than_in_the_manifest_is_not_uploaded(
    s3: FakeS3, finished_build: Build
) -> None:
    _publish(s3, finished_build)
    del s3.objects[KEY]
    manifest = json.loads(s3.objects[MANIFEST]["Body"])
    manifest["archive"]["checksum"] = "b3RoZXI=-1"
    s3.objects[MANIFEST]["Body"] = json.dumps(manifest).encode()
    with pytest.raises(BuildError, match=f"s3://bucket/{MANIFEST} holds other bytes"):
        _publish(s3, finished_build)
    assert (KEY in s3.objects, s3.unfinished) == (False, {})


def test_other_object_under_the_key_is_refused(s3: FakeS3, finished_build: Build) -> None:
    s3.objects[KEY] = {"Body": b"by hand"}
    with pytest.raises(BuildError, match=rf"{KEY} holds other bytes \(SHA-256 unknown\) than"):
        _publish(s3, finished_build)
    assert s3.objects == {KEY: {"Body": b"by hand"}}
    assert s3.unfinished == {}


def test_interrupted_publication_is_completed_by_the_next(
    s3: FakeS3, finished_build: Build
) -> None:
    s3.hooks["PutObject"] = Mock(side_effect=KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        _publish(s3, finished_build)
    assert set(s3.objects) == {KEY}
    assert not _is_published(s3)
    del s3.hooks["PutObject"]
    _publish(s3, finished_build)
    assert _is_published(s3)
