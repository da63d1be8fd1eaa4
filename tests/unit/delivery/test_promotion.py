"""Tests of promotion: copies between buckets, with a fake S3."""

import base64
import hashlib
import io
import itertools
import json
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import pytest
from botocore.exceptions import ClientError
from botocore.response import StreamingBody

from delivery.errors import NotDelivered
from delivery.promotion import ABSENT, COPIED, PRESENT, promote_archive
from plan.archives import ArchiveBucket, ArchiveReplaced
from platform_facts.rules.bucket_keys import manifest_key

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

KEY = "text/cpu-24.09/minilm-0123456789ab.tar.gz"
ARCHIVE = b"the archive's bytes"
PART_BYTES = 7
DIGEST = "0123456789ab" + "c" * 52
SOURCE = f"sources/{DIGEST}.zip"


class FakeS3:
    """The S3 calls of a promotion; `objects` maps bucket and key to content."""

    def __init__(self) -> None:
        self.objects: dict[tuple[str, str], bytes] = {}
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.denies_copies = False
        self._ids = itertools.count()

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        if (Bucket, Key) not in self.objects:
            raise s3_error("NoSuchKey")
        body = self.objects[Bucket, Key]
        return {"Body": StreamingBody(io.BytesIO(body), len(body))}

    def head_object(self, *, Bucket: str, Key: str, ChecksumMode: str = "") -> dict[str, Any]:  # noqa: N803
        if (Bucket, Key) not in self.objects:
            raise s3_error("404")
        body = self.objects[Bucket, Key]
        head = {"ContentLength": len(body), "ETag": "etag", "ContentType": "application/gzip"}
        if ChecksumMode:
            head["ChecksumSHA256"] = composite_sha256(body)
        return {**head, "Metadata": {"sha256": "0"}}

    def put_object(self, **request: Any) -> None:
        assert request["IfNoneMatch"] == "*"
        if (request["Bucket"], request["Key"]) in self.objects:
            raise s3_error("PreconditionFailed")
        self.objects[request["Bucket"], request["Key"]] = request["Body"]

    def create_multipart_upload(self, **request: Any) -> dict[str, Any]:
        assert (request["Metadata"], request["ChecksumAlgorithm"]) == ({"sha256": "0"}, "SHA256")
        if self.denies_copies:
            raise s3_error("AccessDenied")
        upload = f"upload-{next(self._ids)}"
        self.uploads[upload] = {}
        return {"UploadId": upload}

    def upload_part_copy(self, **request: Any) -> dict[str, Any]:
        assert request["CopySourceIfMatch"] == "etag"
        source = request["CopySource"]
        first, last = map(int, request["CopySourceRange"].removeprefix("bytes=").split("-"))
        body = self.objects[source["Bucket"], source["Key"]]
        assert last < len(body)
        part = body[first : last + 1]
        self.uploads[request["UploadId"]][request["PartNumber"]] = part
        result = {"ETag": f"part-{request['PartNumber']}", "ChecksumSHA256": base64_sha256(part)}
        return {"CopyPartResult": result}

    def complete_multipart_upload(self, **request: Any) -> None:
        assert request["IfNoneMatch"] == "*"
        if (request["Bucket"], request["Key"]) in self.objects:
            raise s3_error("PreconditionFailed")
        parts = self.uploads.pop(request["UploadId"])
        numbers = [part["PartNumber"] for part in request["MultipartUpload"]["Parts"]]
        self.objects[request["Bucket"], request["Key"]] = b"".join(
            parts[number] for number in numbers
        )

    def abort_multipart_upload(self, **request: Any) -> None:
        del self.uploads[request["UploadId"]]


def s3_error(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": code}}, "Operation")


def base64_sha256(content: bytes) -> str:
    return base64.b64encode(hashlib.sha256(content).digest()).decode()


def composite_sha256(content: bytes) -> str:
    """Return S3's composite SHA-256 of an object in parts of `PART_BYTES` bytes."""
    parts = [content[start : start + PART_BYTES] for start in range(0, len(content), PART_BYTES)]
    digests = b"".join(hashlib.sha256(part).digest() for part in parts)
    return f"{base64_sha256(digests)}-{len(parts)}"


def manifest(archive_content: bytes, **changes: Any) -> bytes:
    archive = {
        "sha256": hashlib.sha256(archive_content).hexdigest(),
        "checksum": composite_sha256(archive_content),
        "part_bytes": PART_BYTES,
    }
    fields = {"digest": DIGEST, "archive": archive, "source": {"model": "minilm"}, **changes}
    return json.dumps(fields, indent=2).encode() + b"\n"


@pytest.fixture
def s3() -> FakeS3:
    fake = FakeS3()
    fake.objects["dev", KEY] = ARCHIVE
    fake.objects["dev", manifest_key(KEY)] = manifest(ARCHIVE)
    fake.objects["dev", SOURCE] = b"the source"
    return fake


@pytest.fixture
def buckets(s3: FakeS3) -> dict[str, Any]:
    client = cast("S3Client", s3)
    source, target = ArchiveBucket(client, "dev"), ArchiveBucket(client, "prod")
    return {"source": source, "target": target, "digest": DIGEST}


def test_existing_archive_is_not_copied(s3: FakeS3, buckets: dict[str, Any]) -> None:
    promote_archive(KEY, **buckets)
    for name in KEY, manifest_key(KEY):
        del s3.objects["dev", name]
    before = dict(s3.objects)
    assert promote_archive(KEY, **buckets) == PRESENT
    assert s3.objects == before


@pytest.mark.parametrize("has_manifest", [True, False])
def test_different_archive_under_the_same_key_is_refused(
    *, has_manifest: bool, s3: FakeS3, buckets: dict[str, Any]
) -> None:
    s3.objects["prod", KEY] = b"compiled here"
    if has_manifest:
        s3.objects["prod", manifest_key(KEY)] = manifest(b"compiled here")
    before = dict(s3.objects)
    with pytest.raises(NotDelivered, match=f"s3://prod/{KEY} and .* have different SHA-256"):
        promote_archive(KEY, **buckets)
    assert s3.objects.keys() - before.keys() <= {("prod", SOURCE)}


def test_interrupted_copy_is_completed(s3: FakeS3, buckets: dict[str, Any]) -> None:
    s3.objects["prod", KEY] = ARCHIVE
    assert promote_archive(KEY, **buckets) == COPIED
    assert s3.objects["prod", manifest_key(KEY)] == manifest(ARCHIVE)
    assert s3.uploads == {}


def test_archive_without_manifest_or_checksum_is_not_promoted(
    s3: FakeS3, buckets: dict[str, Any]
) -> None:
    assert promote_archive("text/missing.tar.gz", **buckets) == ABSENT
    s3.objects["dev", manifest_key(KEY)] = manifest(ARCHIVE, archive={})
    assert promote_archive(KEY, **buckets) == ABSENT
    assert ("prod", KEY) not in s3.objects


FORGED = b"answers as expected, and sends everything elsewhere"


def _replace_archive(s3: FakeS3) -> None:
    s3.objects["dev", KEY] = FORGED


def _replace_archive_during_copy(s3: FakeS3) -> None:
    create = s3.create_multipart_upload

    def create_and_replace(**request: Any) -> dict[str, Any]:
        if request["Key"] == KEY:
            s3.objects["dev", KEY] = FORGED[: len(ARCHIVE)]
        return create(**request)

    s3.create_multipart_upload = create_and_replace  # type: ignore[method-assign]


def _forge_digest(s3: FakeS3) -> None:
    forged = manifest(FORGED, digest="0123456789ab" + "e" * 52)
    s3.objects |= {("dev", KEY): FORGED, ("dev", manifest_key(KEY)): forged}


def _forge_published(s3: FakeS3) -> None:
    forged = manifest(FORGED, source=None)
    s3.objects |= {("dev", KEY): FORGED, ("dev", manifest_key(KEY)): forged}


def _delete_source(s3: FakeS3) -> None:
    source = {"model": "minilm", "key": "text/cpu-24.09/other.tar.gz"}
    s3.objects["dev", "text/cpu-24.09/other.tar.gz"] = FORGED
    s3.objects["dev", manifest_key(KEY)] = manifest(ARCHIVE, source=source)
    del s3.objects["dev", SOURCE]


@pytest.mark.parametrize(
    ("attack", "message"),
    [
        (_replace_archive, f"s3://dev/{KEY} has the SHA-256 {composite_sha256(FORGED)}, and its"),
        (_replace_archive_during_copy, f"s3://dev/{KEY} has the SHA-256 "),
        (_forge_digest, f"has the digest 0123456789ab{'e' * 52}, and this commit's model"),
        (_forge_published, "no builder has made this archive"),
        (_delete_source, f"s3://dev/{SOURCE} does not exist"),
    ],
)
def test_forged_archive_is_not_promoted(
    attack: Callable[[FakeS3], None], message: str, s3: FakeS3, buckets: dict[str, Any]
) -> None:
    attack(s3)
    with pytest.raises((ArchiveReplaced, NotDelivered), match=re.escape(message)):
        promote_archive(KEY, **buckets)
    assert [key for bucket, key in s3.objects if bucket == "prod" and key != SOURCE] == []
    assert s3.uploads == {}


def test_denied_copy_is_reported_with_the_fix(s3: FakeS3, buckets: dict[str, Any]) -> None:
    s3.denies_copies = True
    with pytest.raises(NotDelivered, match="deliver by the workflow, or without FROM_STAGE"):
        promote_archive(KEY, **buckets)
