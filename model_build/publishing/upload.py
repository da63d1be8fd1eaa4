"""Upload a stream under a key where nothing stands yet."""

import base64
import contextlib
import hashlib
import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from model_build.write_once import is_taken

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef

PART_BYTES = 32 * 1024 * 1024
"""S3 takes 10,000 parts: this is enough for 312 GiB. An object's checksum depends on it."""
THREADS = 4


class KeyTaken(Exception):
    """An object stands under the key already, or is being written by somebody else."""


class MultipartUpload:
    """Takes bytes and sends them as the parts of one upload, `THREADS` at a time.

    Parts carry a SHA-256 that S3 checks; boto3 sends a part again where a try fails. No more than
    `THREADS` parts and two being filled are in memory.
    """

    def __init__(self, s3: "S3Client", *, bucket: str, key: str, upload_id: str) -> None:
        self._s3, self._bucket, self._key, self._upload_id = s3, bucket, key, upload_id
        self._pool = ThreadPoolExecutor(THREADS)
        self._free = threading.Semaphore(THREADS)
        self._filling = bytearray()
        self._parts: list[Future[CompletedPartTypeDef]] = []

    def write(self, chunk: bytes) -> int:
        """Take some bytes. Raises what sending an earlier part failed with."""
        self._filling += chunk
        while len(self._filling) >= PART_BYTES:
            self._send(PART_BYTES)
        return len(chunk)

    def checksum(self) -> str:
        """Send what is left; return the SHA-256 that S3 will keep, of those of the parts.

        S3 user guide, "Checking object integrity": base64, a dash and the number of parts.
        """
        if self._filling or not self._parts:
            self._send(len(self._filling))
        digests = [base64.b64decode(part.result()["ChecksumSHA256"]) for part in self._parts]
        return f"{_base64_sha256(b''.join(digests))}-{len(digests)}"

    def complete(self) -> None:
        """Send what is left and make the object appear. Raises `KeyTaken`."""
        self.checksum()
        parts = [part.result() for part in self._parts]
        try:
            self._s3.complete_multipart_upload(
                Bucket=self._bucket,
                Key=self._key,
                UploadId=self._upload_id,
                MultipartUpload={"Parts": parts},
                IfNoneMatch="*",
            )
        except ClientError as error:
            if is_taken(error):
                raise KeyTaken from error
            raise

    def close(self) -> None:
        """Wait for the parts under way; no further one is sent."""
        self._pool.shutdown(cancel_futures=True)

    def _send(self, size: int) -> None:
        """Send the first `size` bytes that are kept, once a part under way is done."""
        for part in self._parts:
            if part.done():
                part.result()  # raises what it failed with
        self._free.acquire()
        body = bytes(self._filling[:size])
        del self._filling[:size]
        number = len(self._parts) + 1
        self._parts.append(self._pool.submit(self._send_part, number, body))

    def _send_part(self, number: int, body: bytes) -> "CompletedPartTypeDef":
        checksum = _base64_sha256(body)
        try:
            answer = self._s3.upload_part(
                Bucket=self._bucket,
                Key=self._key,
                UploadId=self._upload_id,
                PartNumber=number,
                Body=body,
                ChecksumSHA256=checksum,
            )
        finally:
            self._free.release()
        return {"PartNumber": number, "ETag": answer["ETag"], "ChecksumSHA256": checksum}


@contextmanager
def new_object(
    s3: "S3Client",
    *,
    bucket: str,
    key: str,
    content_type: str = "application/gzip",
    has_other_writers: bool = False,
) -> Iterator[MultipartUpload]:
    """Give an upload to write to, which becomes the object `key` when the block ends.

    Nothing is ever overwritten: raises `KeyTaken` at the end of the block when the key has an
    object by then. Whatever else fails in the block, or in S3, no part is left behind; parts that
    a killed process left under this key are removed first, unless it `has_other_writers`, whose
    parts they may be: the bucket's lifecycle removes those.
    """
    if not has_other_writers:
        _abort_uploads_of(s3, bucket=bucket, key=key)
    upload_id = s3.create_multipart_upload(
        Bucket=bucket, Key=key, ContentType=content_type, ChecksumAlgorithm="SHA256"
    )["UploadId"]
    upload = MultipartUpload(s3, bucket=bucket, key=key, upload_id=upload_id)
    try:
        yield upload
        upload.complete()
    except BaseException:
        upload.close()
        with contextlib.suppress(Exception):  # or it would hide why the upload failed
            s3.abort_multipart_upload(Bucket=bucket, Key=key, UploadId=upload_id)
        raise
    upload.close()


def _abort_uploads_of(s3: "S3Client", *, bucket: str, key: str) -> None:
    """Remove unfinished uploads of one key: the name says what they hold, so none is missed."""
    pages = s3.get_paginator("list_multipart_uploads").paginate(Bucket=bucket, Prefix=key)
    for page in pages:
        for upload in page.get("Uploads", ()):
            if upload["Key"] == key:
                s3.abort_multipart_upload(Bucket=bucket, Key=key, UploadId=upload["UploadId"])


def _base64_sha256(content: bytes) -> str:
    return base64.b64encode(hashlib.sha256(content).digest()).decode()
