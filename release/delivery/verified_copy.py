"""An object of one bucket in another: where its key is free, and with the recorded SHA-256."""

import base64
import hashlib
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from release.delivery.archive_bucket import ArchiveBucket, other_bytes

if TYPE_CHECKING:
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef

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

    With parts as large as the original's, the copy has its SHA-256: S3 computes that of each part
    that it copies (API reference, CopyPartResult), and of the object that of the parts' own, with
    their number (user guide, "Checking object integrity").
    """
    head = source.s3.head_object(Bucket=source.name, Key=key)
    size, etag = head["ContentLength"], head["ETag"]
    place: Any = {"Bucket": to.name, "Key": key}
    place["UploadId"] = to.s3.create_multipart_upload(
        **place,
        ContentType=head["ContentType"],
        Metadata=head["Metadata"],
        ChecksumAlgorithm="SHA256",
    )["UploadId"]

    def copied_part(start: int) -> "CompletedPartTypeDef":
        number = start // part_bytes + 1
        result = to.s3.upload_part_copy(
            **place,
            PartNumber=number,
            CopySource={"Bucket": source.name, "Key": key},
            CopySourceIfMatch=etag,
            CopySourceRange=f"bytes={start}-{min(start + part_bytes, size) - 1}",
        )["CopyPartResult"]
        checksum = result["ChecksumSHA256"]
        return {"PartNumber": number, "ETag": result["ETag"], "ChecksumSHA256": checksum}

    try:
        with ThreadPoolExecutor(PARTS_AT_ONCE) as pool:
            parts = list(pool.map(copied_part, range(0, size, part_bytes)))
        if recorded:
            _refuse_other_bytes(key, source, parts, recorded)
        to.s3.complete_multipart_upload(**place, MultipartUpload={"Parts": parts}, IfNoneMatch="*")
    except BaseException as error:
        to.s3.abort_multipart_upload(**place)
        if isinstance(error, ClientError) and error.response["Error"]["Code"] in TAKEN:
            return False
        raise
    return True


def _refuse_other_bytes(
    key: str, source: ArchiveBucket, parts: "list[CompletedPartTypeDef]", recorded: str
) -> None:
    """Raise `NotDelivered` unless the parts give the SHA-256 that S3 keeps of the original."""
    digests = b"".join(base64.b64decode(part["ChecksumSHA256"]) for part in parts)
    copied = f"{base64.b64encode(hashlib.sha256(digests).digest()).decode()}-{len(parts)}"
    if copied != recorded:
        raise other_bytes(source.name, key, recorded, copied)
