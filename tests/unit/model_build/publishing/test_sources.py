"""Model sources in the bucket, from which an archive can be rebuilt."""

import io
import zipfile
from pathlib import Path

import pytest
from botocore.exceptions import ClientError

from model_build import digest_of
from model_build.build import Build
from model_build.manifest import Source
from model_build.publishing import sources
from tests.unit.model_build.fakes import FakeS3, client_error


def _keep(s3: FakeS3, built: Build) -> Source:
    return sources.keep(s3.client, built, bucket="bucket")


def _key(built: Build) -> str:
    return f"sources/{built.digest}.zip"


def test_unpacked_source_has_the_digest_of_the_archive(
    s3: FakeS3, built: Build, tmp_path: Path
) -> None:
    (built.source.folder / "tests").mkdir(exist_ok=True)
    (built.source.folder / "tests" / "golden.json").write_text("{}")  # not part of the model
    _keep(s3, built)
    kept = s3.objects[_key(built)]
    assert kept["ContentType"] == "application/zip"
    with zipfile.ZipFile(io.BytesIO(kept["Body"])) as packed:
        packed.extractall(tmp_path / "unpacked")
    assert digest_of(tmp_path / "unpacked") == built.digest
    assert not (tmp_path / "unpacked" / "tests").exists()


def test_source_is_uploaded_once(s3: FakeS3, built: Build) -> None:
    assert _keep(s3, built) == _keep(s3, built)
    assert s3.calls.count("CreateMultipartUpload") == 1


def test_denied_read_is_not_a_missing_source(s3: FakeS3, built: Build) -> None:
    def refuse(request: object) -> None:
        raise client_error("HeadObject", "403")

    s3.before["HeadObject"] = refuse
    with pytest.raises(ClientError, match="403"):
        _keep(s3, built)


def test_concurrent_uploads_both_succeed(s3: FakeS3, built: Build) -> None:
    def other(_: object) -> None:
        s3.objects[_key(built)] = {"Body": b"the same"}

    s3.before["CompleteMultipartUpload"] = other
    _keep(s3, built)
    assert _key(built) in s3.objects
    assert s3.unfinished == {}


def test_concurrent_upload_of_the_same_source_is_not_aborted(s3: FakeS3, built: Build) -> None:
    s3.create_multipart_upload(Bucket="bucket", Key=_key(built), ChecksumAlgorithm="SHA256")
    _keep(s3, built)
    assert [upload["Key"] for upload in s3.unfinished.values()] == [_key(built)]
