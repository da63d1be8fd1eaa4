"""Copy an S3 object to another bucket: only to a free key, and only with the recorded SHA-256."""

import base64
import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from delivery.archive_bucket import ArchiveBucket, checksum_mismatch

if TYPE_CHECKING:
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef

CONCURRENT_PARTS = 8
KEY_TAKEN_CODES = ("PreconditionFailed", "412", "ConditionalRequestConflict")
"""S3's error codes for a key that has an object, or to which another request writes one."""


def copy_object(
    key: str,
    source: ArchiveBucket,
    target: ArchiveBucket,
    *,
    part_bytes: int,
    recorded: str | None = None,
) -> bool:
    """Copy an object; return False if the target bucket already has an object under the key.

    Raise `NotDelivered` if the copy would not have the `recorded` SHA-256. A copy in parts of the
    original's part size has the SHA-256 of the original: S3 returns the SHA-256 of each copied part
    (API reference, CopyPartResult), and computes the SHA-256 of the object from those of its parts
    and their number (user guide, "Checking object integrity").
    """
    head = source.s3.head_object(Bucket=source.name, Key=key)
    size, etag = head["ContentLength"], head["ETag"]
    upload: Any = {"Bucket": target.name, "Key": key}
    upload["UploadId"] = target.s3.create_multipart_upload(
        **upload,
        ContentType=head["ContentType"],
        Metadata=head["Metadata"],
        ChecksumAlgorithm="SHA256",
    )["UploadId"]

    def copy_part(start: int) -> "CompletedPartTypeDef":
        number = start // part_bytes + 1
        result = target.s3.upload_part_copy(
            **upload,
            PartNumber=number,
            CopySource={"Bucket": source.name, "Key": key},
            CopySourceIfMatch=etag,
            CopySourceRange=f"bytes={start}-{min(start + part_bytes, size) - 1}",
        )["CopyPartResult"]
        checksum = result["ChecksumSHA256"]
        return {"PartNumber": number, "ETag": result["ETag"], "ChecksumSHA256": checksum}

    try:
        with ThreadPoolExecutor(CONCURRENT_PARTS) as pool:
            parts = list(pool.map(copy_part, range(0, size, part_bytes)))
        if recorded:
            _verify_checksum(key, source, parts, recorded)
        target.s3.complete_multipart_upload(
            **upload, MultipartUpload={"Parts": parts}, IfNoneMatch="*"
        )
    except BaseException as error:
        target.s3.abort_multipart_upload(**upload)
        if isinstance(error, ClientError) and error.response["Error"]["Code"] in KEY_TAKEN_CODES:
            return False
        raise
    return True


def _verify_checksum(
    key: str, source: ArchiveBucket, parts: "list[CompletedPartTypeDef]", recorded: str
) -> None:
    """Raise `NotDelivered` unless the parts give the recorded SHA-256."""
    digests = b"".join(base64.b64decode(part["ChecksumSHA256"]) for part in parts)
    copied = f"{base64.b64encode(hashlib.sha256(digests).digest()).decode()}-{len(parts)}"
    if copied != recorded:
        raise checksum_mismatch(source.name, key, recorded, copied)
