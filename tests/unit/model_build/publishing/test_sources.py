"""Model sources in the bucket, from which an archive can be rebuilt."""

import io
import zipfile
from pathlib import Path

from model_build import compute_digest
from model_build.build import Build
from model_build.manifest import StoredSource
from model_build.publishing import sources
from tests.unit.model_build.fakes import FakeS3


def _store(s3: FakeS3, finished_build: Build) -> StoredSource:
    return sources.store_source(s3.bucket, finished_build)


def _key(finished_build: Build) -> str:
    return f"sources/{finished_build.digest}.zip"


def test_unpacked_source_has_the_digest_of_the_archive(
    s3: FakeS3, finished_build: Build, tmp_path: Path
) -> None:
    (finished_build.source.folder / "tests").mkdir(exist_ok=True)
    (finished_build.source.folder / "tests" / "golden.json").write_text(
        "{}"
    )  # not part of the model
    _store(s3, finished_build)
    stored_object = s3.objects[_key(finished_build)]
    assert stored_object["ContentType"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(stored_object["Body"])) as archive:
        archive.extractall(tmp_path / "unpacked")
    assert compute_digest(tmp_path / "unpacked") == finished_build.digest
    assert not (tmp_path / "unpacked" / "tests").exists()


def test_source_is_uploaded_once(s3: FakeS3, finished_build: Build) -> None:
    assert _store(s3, finished_build) == _store(s3, finished_build)
    assert s3.calls.count("CreateMultipartUpload") == 1


def test_concurrent_uploads_both_succeed(s3: FakeS3, finished_build: Build) -> None:
    def upload_first(_: object) -> None:
        s3.objects[_key(finished_build)] = {"Body": b"the same"}

    s3.hooks["CompleteMultipartUpload"] = upload_first
    _store(s3, finished_build)
    assert _key(finished_build) in s3.objects
    assert s3.unfinished == {}
