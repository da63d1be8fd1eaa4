import hashlib
import io
import itertools
import json
from typing import TYPE_CHECKING, Any, cast

import pytest
from botocore.exceptions import ClientError
from botocore.response import StreamingBody

from release.delivery import promotion
from release.delivery.archive_bucket import ArchiveBucket, manifest_key
from release.delivery.errors import NotDelivered
from release.delivery.promotion import Promoted, promote

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

KEY = "text/cpu-24.09/minilm-0123456789ab.tar.gz"
ARCHIVE = b"the archive's bytes"


class FakeS3:
    """The calls that a copy makes, over all buckets; `objects` by bucket and key."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], bytes] = {}
        self.unfinished: dict[str, dict[int, bytes]] = {}
        self.fails = ""
        self._ids = itertools.count()

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        if (Bucket, Key) not in self.objects:
            raise refusal("NoSuchKey")
        body = self.objects[Bucket, Key]
        return {"Body": StreamingBody(io.BytesIO(body), len(body))}

    def head_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        if (Bucket, Key) not in self.objects:
            raise refusal("404")
        body = self.objects[Bucket, Key]
        head = {"ContentLength": len(body), "ETag": "etag", "ContentType": "application/gzip"}
        return {**head, "Metadata": {"sha256": "0"}}

    def create_multipart_upload(self, **asked: Any) -> dict[str, Any]:
        assert asked["Metadata"] == {"sha256": "0"}
        upload = f"upload-{next(self._ids)}"
        self.unfinished[upload] = {}
        return {"UploadId": upload}

    def upload_part_copy(self, **asked: Any) -> dict[str, Any]:
        if self.fails == asked["Key"]:
            raise refusal("SlowDown")
        assert asked["CopySourceIfMatch"] == "etag"
        source = asked["CopySource"]
        first, last = map(int, asked["CopySourceRange"].removeprefix("bytes=").split("-"))
        body = self.objects[source["Bucket"], source["Key"]]
        assert last < len(body)
        self.unfinished[asked["UploadId"]][asked["PartNumber"]] = body[first : last + 1]
        return {"CopyPartResult": {"ETag": f"part-{asked['PartNumber']}"}}

    def complete_multipart_upload(self, **asked: Any) -> None:
        assert asked["IfNoneMatch"] == "*"
        if (asked["Bucket"], asked["Key"]) in self.objects:
            raise refusal("PreconditionFailed")
        parts = self.unfinished.pop(asked["UploadId"])
        numbers = [it["PartNumber"] for it in asked["MultipartUpload"]["Parts"]]
        self.objects[asked["Bucket"], asked["Key"]] = b"".join(parts[it] for it in numbers)

    def abort_multipart_upload(self, **asked: Any) -> None:
        del self.unfinished[asked["UploadId"]]


def refusal(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": code}}, "Operation")


def manifest(archive: bytes) -> bytes:
    return json.dumps({"archive": {"sha256": hashlib.sha256(archive).hexdigest()}}).encode()


@pytest.fixture
def s3() -> FakeS3:
    fake = FakeS3()
    fake.objects["dev", KEY] = ARCHIVE
    fake.objects["dev", manifest_key(KEY)] = manifest(ARCHIVE)
    return fake


@pytest.fixture
def buckets(s3: FakeS3) -> dict[str, ArchiveBucket]:
    client = cast("S3Client", s3)
    return {"source": ArchiveBucket(client, "dev"), "to": ArchiveBucket(client, "prod")}


def test_archive_and_manifest_are_copied(s3: FakeS3, buckets: dict[str, ArchiveBucket]) -> None:
    assert promote(KEY, **buckets) is Promoted.COPIED
    assert s3.objects["prod", KEY] == ARCHIVE
    assert s3.objects["prod", manifest_key(KEY)] == manifest(ARCHIVE)
    assert s3.unfinished == {}


def test_a_large_archive_is_copied_in_parts(
    s3: FakeS3, buckets: dict[str, ArchiveBucket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(promotion, "PART_BYTES", 7)
    promote(KEY, **buckets)
    assert s3.objects["prod", KEY] == ARCHIVE


def test_what_is_there_already_is_left_alone(s3: FakeS3, buckets: dict[str, ArchiveBucket]) -> None:
    promote(KEY, **buckets)
    before = dict(s3.objects)
    assert promote(KEY, **buckets) is Promoted.SAME
    assert s3.objects == before


def test_what_the_other_stage_does_not_have_is_built(buckets: dict[str, ArchiveBucket]) -> None:
    assert promote("text/other.tar.gz", **buckets) is Promoted.ABSENT


def test_an_archive_that_this_stage_alone_has_needs_no_build(
    s3: FakeS3, buckets: dict[str, ArchiveBucket]
) -> None:
    s3.objects["prod", "text/other.json"] = manifest(b"other")
    assert promote("text/other.tar.gz", **buckets) is Promoted.SAME


def test_other_bytes_under_the_same_key_are_refused(
    s3: FakeS3, buckets: dict[str, ArchiveBucket]
) -> None:
    s3.objects["prod", KEY] = b"compiled here"
    s3.objects["prod", manifest_key(KEY)] = manifest(b"compiled here")
    with pytest.raises(NotDelivered, match=f"s3://prod/{KEY} holds other bytes"):
        promote(KEY, **buckets)


def test_a_copy_that_was_cut_off_after_the_archive_is_completed(
    s3: FakeS3, buckets: dict[str, ArchiveBucket]
) -> None:
    s3.objects["prod", KEY] = ARCHIVE
    assert promote(KEY, **buckets) is Promoted.COPIED
    assert s3.objects["prod", manifest_key(KEY)] == manifest(ARCHIVE)
    assert s3.unfinished == {}


def test_an_archive_of_other_bytes_without_a_manifest_is_refused(
    s3: FakeS3, buckets: dict[str, ArchiveBucket]
) -> None:
    s3.objects["prod", KEY] = b"half a build"
    with pytest.raises(NotDelivered, match="holds other bytes"):
        promote(KEY, **buckets)
    assert ("prod", manifest_key(KEY)) not in s3.objects


def test_a_copy_that_fails_leaves_no_part_behind(
    s3: FakeS3, buckets: dict[str, ArchiveBucket]
) -> None:
    s3.fails = KEY
    with pytest.raises(ClientError, match="SlowDown"):
        promote(KEY, **buckets)
    assert s3.unfinished == {}
    assert ("prod", KEY) not in s3.objects


def test_the_source_that_the_manifest_names_comes_along_where_it_is_there(
    s3: FakeS3, buckets: dict[str, ArchiveBucket]
) -> None:
    named = json.loads(manifest(ARCHIVE)) | {"source": {"key": "sources/d.zip"}}
    s3.objects["dev", manifest_key(KEY)] = json.dumps(named).encode()
    s3.objects["dev", "sources/d.zip"] = b"its files"
    assert promote(KEY, **buckets) is Promoted.COPIED
    assert s3.objects["prod", "sources/d.zip"] == b"its files"
    for key in [it for it in s3.objects if it[0] == "prod" or it[1] == "sources/d.zip"]:
        del s3.objects[key]
    assert promote(KEY, **buckets) is Promoted.COPIED
    assert ("prod", "sources/d.zip") not in s3.objects
