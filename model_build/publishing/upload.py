"""Conditional multipart uploads to S3."""

import base64
import hashlib
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from plan.archives import ArchiveBucket, composite_checksum

if TYPE_CHECKING:
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef

PART_BYTES = 32 * 1024 * 1024
"""The size of a part. S3's limit of 10,000 parts allows 312 GiB. Checksums depend on this size."""
THREADS = 4


def checksum(path: Path) -> str:
    """Return the SHA-256 that S3 stores for the file that `upload` writes."""
    return composite_checksum(
        _base64_sha256(_read_part(path, number)) for number in _part_numbers(path)
    )


def upload(
    bucket: ArchiveBucket,
    path: Path,
    *,
    key: str,
    content_type: str = "application/gzip",
    has_other_writers: bool = False,
) -> bool:
    """Write a file under `key`; return False if the key has an object when the upload ends.

    Parts have a SHA-256, which S3 verifies; at most `THREADS` parts are in memory. A failed upload
    is aborted. Unfinished uploads of the key are aborted first, unless `has_other_writers` is true:
    then they may belong to concurrent writers, and the bucket's lifecycle rule aborts them later.

    The pinned boto3 has no conditional `upload_file` (s3transfer, ALLOWED_UPLOAD_ARGS).
    """
    if not has_other_writers:
        _abort_uploads_of(bucket, key)
    return bucket.write_parts_once(
        key,
        partial(_send_part, bucket, path),
        _part_numbers(path),
        threads=THREADS,
        ContentType=content_type,
    )


def _part_numbers(path: Path) -> range:
    """Return the numbers of a file's parts; an empty file has one part."""
    return range(1, max(-(-path.stat().st_size // PART_BYTES), 1) + 1)


def _read_part(path: Path, number: int) -> bytes:
    with path.open("rb") as file:
        file.seek((number - 1) * PART_BYTES)
        return file.read(PART_BYTES)


def _send_part(
    bucket: ArchiveBucket, path: Path, upload: dict[str, Any], number: int
) -> "CompletedPartTypeDef":
    body = _read_part(path, number)
    sha256 = _base64_sha256(body)
    response = bucket.s3.upload_part(**upload, PartNumber=number, Body=body, ChecksumSHA256=sha256)
    return {"PartNumber": number, "ETag": response["ETag"], "ChecksumSHA256": sha256}


def _abort_uploads_of(bucket: ArchiveBucket, key: str) -> None:
    """Abort unfinished uploads of one key; `Prefix` also matches longer keys."""
    uploads = bucket.s3.get_paginator("list_multipart_uploads")
    for page in uploads.paginate(Bucket=bucket.name, Prefix=key):
        for upload in page.get("Uploads", ()):
            if upload["Key"] == key:
                bucket.s3.abort_multipart_upload(
                    Bucket=bucket.name, Key=key, UploadId=upload["UploadId"]
                )


def _base64_sha256(content: bytes) -> str:
    return base64.b64encode(hashlib.sha256(content).digest()).decode()
