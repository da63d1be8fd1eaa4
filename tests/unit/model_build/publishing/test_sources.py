"""Model sources in the bucket, from which an archive can be rebuilt."""

from model_build.build import Build
from model_build.publishing import sources
from tests.unit.model_build.fakes import FakeS3


def test_source_is_uploaded_once(s3: FakeS3, finished_build: Build) -> None:
    first = sources.store_source(s3.bucket, finished_build)
    assert sources.store_source(s3.bucket, finished_build) == first
    assert s3.calls.count("CreateMultipartUpload") == 1


def test_concurrent_uploads_both_succeed(s3: FakeS3, finished_build: Build) -> None:
    key = f"sources/{finished_build.digest}.zip"

    def upload_first(_: object) -> None:
        s3.objects[key] = {"Body": b"the same"}

    s3.hooks["CompleteMultipartUpload"] = upload_first
    sources.store_source(s3.bucket, finished_build)
    assert key in s3.objects
    assert s3.unfinished == {}
