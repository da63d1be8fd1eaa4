"""Tests of promotion: copies between buckets, with a fake S3."""

import base64
import hashlib
import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from delivery.errors import NotDelivered
from delivery.promotion import ABSENT, COPIED, PRESENT, promote_archive
from plan.archives import ArchiveReplaced
from platform_facts.rules.bucket_keys import manifest_key
from tests.unit.model_build.fakes import FakeS3, client_error

KEY = "text/cpu-24.09/minilm-0123456789ab.tar.gz"
ARCHIVE = b"the archive's bytes"
PART_BYTES = 7
DIGEST = "0123456789ab" + "c" * 52
SOURCE = f"sources/{DIGEST}.zip"
METADATA = {"sha256": "0"}


class FakeTarget(FakeS3):
    """The bucket of the target stage; parts are copied from the `source`."""

    def __init__(self, source: FakeS3) -> None:
        super().__init__("prod")
        self._source = source

    def upload_part_copy(self, **request: Any) -> dict[str, Any]:
        copied = request["CopySource"]
        assert (copied["Bucket"], request.pop("CopySourceIfMatch")) == ("dev", "etag")
        assert self.unfinished[request["UploadId"]]["Metadata"] == METADATA
        first, last = map(int, request.pop("CopySourceRange").removeprefix("bytes=").split("-"))
        body = self._source.objects[copied["Key"]]["Body"]
        assert last < len(body)
        part = body[first : last + 1]
        return {
            "CopyPartResult": self.upload_part(
                **request, Body=part, ChecksumSHA256=base64_sha256(part)
            )
        }


def base64_sha256(content: bytes) -> str:
    return base64.b64encode(hashlib.sha256(content).digest()).decode()


def composite_sha256(content: bytes) -> str:
    """Return S3's composite SHA-256 of an object in parts of `PART_BYTES` bytes."""
    parts = [content[start : start + PART_BYTES] for start in range(0, len(content), PART_BYTES)]
    digests = b"".join(hashlib.sha256(part).digest() for part in parts)
    return f"{base64_sha256(digests)}-{len(parts)}"


def put(s3: FakeS3, key: str, content: bytes) -> None:
    """Write an object as a build does."""
    s3.objects[key] = {
        **{"Body": content, "ContentLength": len(content), "ContentType": "application/gzip"},
        **{"ETag": "etag", "Metadata": METADATA, "ChecksumSHA256": composite_sha256(content)},
    }


def manifest(archive_content: bytes, **changes: Any) -> bytes:
    archive = {
        "sha256": hashlib.sha256(archive_content).hexdigest(),
        "checksum": composite_sha256(archive_content),
        "part_bytes": PART_BYTES,
    }
    fields = {"digest": DIGEST, "archive": archive, "source": {"model": "minilm"}, **changes}
    return json.dumps(fields, indent=2).encode() + b"\n"


@pytest.fixture
def dev() -> FakeS3:
    fake = FakeS3("dev")
    put(fake, KEY, ARCHIVE)
    put(fake, manifest_key(KEY), manifest(ARCHIVE))
    put(fake, SOURCE, b"the source")
    return fake


@pytest.fixture
def prod(dev: FakeS3) -> FakeS3:
    return FakeTarget(dev)


@pytest.fixture
def promotion(dev: FakeS3, prod: FakeS3) -> dict[str, Any]:
    return {"source": dev.bucket, "target": prod.bucket, "digest": DIGEST}


def test_existing_archive_is_not_copied(
    dev: FakeS3, prod: FakeS3, promotion: dict[str, Any]
) -> None:
    promote_archive(KEY, **promotion)
    for name in KEY, manifest_key(KEY):
        del dev.objects[name]
    before = dict(prod.objects)
    assert promote_archive(KEY, **promotion) == PRESENT
    assert prod.objects == before


@pytest.mark.parametrize("has_manifest", [True, False])
def test_different_archive_under_the_same_key_is_refused(
    *, has_manifest: bool, prod: FakeS3, promotion: dict[str, Any]
) -> None:
    put(prod, KEY, b"compiled here")
    if has_manifest:
        put(prod, manifest_key(KEY), manifest(b"compiled here"))
    before = dict(prod.objects)
    with pytest.raises(NotDelivered, match=f"s3://prod/{KEY} and .* have different SHA-256"):
        promote_archive(KEY, **promotion)
    prod.objects.pop(SOURCE, None)
    assert prod.objects == before


def test_interrupted_copy_is_completed(prod: FakeS3, promotion: dict[str, Any]) -> None:
    put(prod, KEY, ARCHIVE)
    assert promote_archive(KEY, **promotion) == COPIED
    assert prod.objects[manifest_key(KEY)]["Body"] == manifest(ARCHIVE)
    assert prod.unfinished == {}


def test_archive_without_manifest_or_checksum_is_not_promoted(
    dev: FakeS3, prod: FakeS3, promotion: dict[str, Any]
) -> None:
    assert promote_archive("text/missing.tar.gz", **promotion) == ABSENT
    put(dev, manifest_key(KEY), manifest(ARCHIVE, archive={}))
    assert promote_archive(KEY, **promotion) == ABSENT
    assert prod.objects == {}


FORGED = b"answers as expected, and sends everything elsewhere"


def _replace_archive(dev: FakeS3, _: FakeS3) -> None:
    put(dev, KEY, FORGED)


def _replace_archive_during_copy(dev: FakeS3, prod: FakeS3) -> None:
    def replace(request: dict[str, Any]) -> None:
        if request["Key"] == KEY:
            put(dev, KEY, FORGED[: len(ARCHIVE)])

    prod.hooks["CreateMultipartUpload"] = replace


def _forge_digest(dev: FakeS3, _: FakeS3) -> None:
    put(dev, KEY, FORGED)
    put(dev, manifest_key(KEY), manifest(FORGED, digest="0123456789ab" + "e" * 52))


def _forge_published(dev: FakeS3, _: FakeS3) -> None:
    put(dev, KEY, FORGED)
    put(dev, manifest_key(KEY), manifest(FORGED, source=None))


def _delete_source(dev: FakeS3, _: FakeS3) -> None:
    source = {"model": "minilm", "key": "text/cpu-24.09/other.tar.gz"}
    put(dev, source["key"], FORGED)
    put(dev, manifest_key(KEY), manifest(ARCHIVE, source=source))
    del dev.objects[SOURCE]


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
    attack: Callable[[FakeS3, FakeS3], None],
    message: str,
    dev: FakeS3,
    prod: FakeS3,
    promotion: dict[str, Any],
) -> None:
    attack(dev, prod)
    with pytest.raises((ArchiveReplaced, NotDelivered), match=re.escape(message)):
        promote_archive(KEY, **promotion)
    assert prod.objects.keys() <= {SOURCE}
    assert prod.unfinished == {}


def test_denied_copy_is_reported_with_the_fix(prod: FakeS3, promotion: dict[str, Any]) -> None:
    def deny(_: object) -> None:
        raise client_error("CreateMultipartUpload", "AccessDenied")

    prod.hooks["CreateMultipartUpload"] = deny
    with pytest.raises(NotDelivered, match="deliver by the workflow, or without FROM_STAGE"):
        promote_archive(KEY, **promotion)
