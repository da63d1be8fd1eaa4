"""Conditional multipart uploads to S3."""

import base64
import contextlib
import hashlib
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from model_build.write_once import is_conflict

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef

PART_BYTES = 32 * 1024 * 1024
"""The size of a part. S3's limit of 10,000 parts allows 312 GiB. Checksums depend on this size."""
THREADS = 4


class KeyTaken(Exception):
    """The key has an object already, or another process is writing one."""


def checksum(path: Path) -> str:
    """Return the checksum of a file in S3's format: SHA-256 of the parts' SHA-256s.

    S3 user guide, "Checking object integrity": base64, a dash and the number of parts.
    """
    digests = [hashlib.sha256(_read_part(path, number)).digest() for number in _part_numbers(path)]
    return f"{_base64_sha256(b''.join(digests))}-{len(digests)}"


def upload(
    s3: "S3Client",
    path: Path,
    *,
    bucket: str,
    key: str,
    content_type: str = "application/gzip",
    has_other_writers: bool = False,
) -> None:
    """Write a file under `key`. Raises `KeyTaken` if the key has an object when the upload ends.

    Parts have a SHA-256, which S3 verifies; at most `THREADS` parts are in memory. A failed upload
    is aborted. Unfinished uploads of the key are aborted first, unless `has_other_writers` is true:
    then they may belong to concurrent writers, and the bucket's lifecycle rule aborts them later.

    The pinned boto3 has no conditional `upload_file` (s3transfer, ALLOWED_UPLOAD_ARGS).
    """
    if not has_other_writers:
        _abort_uploads_of(s3, bucket=bucket, key=key)
    upload_id = s3.create_multipart_upload(
        Bucket=bucket, Key=key, ContentType=content_type, ChecksumAlgorithm="SHA256"
    )["UploadId"]
    send = partial(_send_part, s3, path, bucket=bucket, key=key, upload_id=upload_id)
    try:
        with ThreadPoolExecutor(THREADS) as pool:
            parts = list(pool.map(send, _part_numbers(path)))
        s3.complete_multipart_upload(
            Bucket=bucket,
            Key=key,
            UploadId=upload_id,
            MultipartUpload={"Parts": parts},
            IfNoneMatch="*",
        )
    except BaseException as error:
        with contextlib.suppress(Exception):  # it would hide the upload's error
            s3.abort_multipart_upload(Bucket=bucket, Key=key, UploadId=upload_id)
        if isinstance(error, ClientError) and is_conflict(error):
            raise KeyTaken from error
        raise


def _part_numbers(path: Path) -> range:
    """Return the numbers of a file's parts; an empty file has one part."""
    return range(1, max(-(-path.stat().st_size // PART_BYTES), 1) + 1)


def _read_part(path: Path, number: int) -> bytes:
    with path.open("rb") as file:
        file.seek((number - 1) * PART_BYTES)
        return file.read(PART_BYTES)


def _send_part(
    s3: "S3Client", path: Path, number: int, *, bucket: str, key: str, upload_id: str
) -> "CompletedPartTypeDef":
    body = _read_part(path, number)
    sha256 = _base64_sha256(body)
    response = s3.upload_part(
        Bucket=bucket,
        Key=key,
        UploadId=upload_id,
        PartNumber=number,
        Body=body,
        ChecksumSHA256=sha256,
    )
    return {"PartNumber": number, "ETag": response["ETag"], "ChecksumSHA256": sha256}


def _abort_uploads_of(s3: "S3Client", *, bucket: str, key: str) -> None:
    """Abort unfinished uploads of one key; `Prefix` also matches longer keys."""
    pages = s3.get_paginator("list_multipart_uploads").paginate(Bucket=bucket, Prefix=key)
    for page in pages:
        for upload in page.get("Uploads", ()):
            if upload["Key"] == key:
                s3.abort_multipart_upload(Bucket=bucket, Key=key, UploadId=upload["UploadId"])


def _base64_sha256(content: bytes) -> str:
    return base64.b64encode(hashlib.sha256(content).digest()).decode()
