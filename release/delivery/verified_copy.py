"""An object of one bucket in another: where its key is free, and with the recorded SHA-256."""

import base64
import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from release.delivery.archive_bucket import ArchiveBucket, other_bytes

if TYPE_CHECKING:
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef, HeadObjectOutputTypeDef

PARTS_AT_ONCE = 8
TAKEN = ("PreconditionFailed", "412", "ConditionalRequestConflict")
"""S3's codes where a key has an object, or is getting one."""


def copy(
    key: str,
    source: ArchiveBucket,
    to: ArchiveBucket,
    *,
    part_bytes: int,
    recorded: str | None = None,
) -> bool:
    """Return False where the key holds an object already. Raises `NotDelivered` for other bytes.

    With parts as large as the original's, the copy has its SHA-256; S3 computes that of each part
    that it copies (API reference, CopyPartResult).
    """
    head = source.s3.head_object(Bucket=source.name, Key=key)
    place: Any = {"Bucket": to.name, "Key": key}
    upload = to.s3.create_multipart_upload(
        **place,
        ContentType=head["ContentType"],
        Metadata=head["Metadata"],
        ChecksumAlgorithm="SHA256",
    )["UploadId"]
    try:
        parts = _copied_parts(key, source, to, upload, head, part_bytes)
        if recorded:
            _refuse_other_bytes(key, source, parts, recorded)
        to.s3.complete_multipart_upload(
            **place, UploadId=upload, MultipartUpload={"Parts": parts}, IfNoneMatch="*"
        )
    except BaseException as error:
        to.s3.abort_multipart_upload(**place, UploadId=upload)
        if isinstance(error, ClientError) and error.response["Error"]["Code"] in TAKEN:
            return False
        raise
    return True


def _copied_parts(
    key: str,
    source: ArchiveBucket,
    to: ArchiveBucket,
    upload: str,
    head: "HeadObjectOutputTypeDef",
    part_bytes: int,
) -> "list[CompletedPartTypeDef]":
    size = head["ContentLength"]

    def copied(start: int) -> "CompletedPartTypeDef":
        number = start // part_bytes + 1
        result = to.s3.upload_part_copy(
            Bucket=to.name,
            Key=key,
            UploadId=upload,
            PartNumber=number,
            CopySource={"Bucket": source.name, "Key": key},
            CopySourceIfMatch=head["ETag"],
            CopySourceRange=f"bytes={start}-{min(start + part_bytes, size) - 1}",
        )["CopyPartResult"]
        return {
            "PartNumber": number,
            "ETag": result["ETag"],
            "ChecksumSHA256": result["ChecksumSHA256"],
        }

    with ThreadPoolExecutor(PARTS_AT_ONCE) as pool:
        return list(pool.map(copied, range(0, size, part_bytes)))


def _refuse_other_bytes(
    key: str, source: ArchiveBucket, parts: "list[CompletedPartTypeDef]", recorded: str
) -> None:
    """Raise `NotDelivered` unless the parts give the SHA-256 that S3 keeps of the original.

    S3 user guide, "Checking object integrity": that of the parts' own, and their number.
    """
    digests = b"".join(base64.b64decode(part["ChecksumSHA256"]) for part in parts)
    copied = f"{base64.b64encode(hashlib.sha256(digests).digest()).decode()}-{len(parts)}"
    if copied != recorded:
        raise other_bytes(source.name, key, recorded, copied)
