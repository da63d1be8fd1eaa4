"""Upload a file under a key where nothing stands yet."""

import contextlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef

PART_BYTES = 32 * 1024 * 1024
THREADS = 4

_TAKEN = ("PreconditionFailed", "412", "ConditionalRequestConflict")
"""S3's codes: the first two where an object stands, the last where another write is under way."""


def upload_new(
    s3: "S3Client", path: Path, *, bucket: str, key: str, metadata: dict[str, str]
) -> bool:
    """Upload `path`, or return False when the key is taken; nothing is ever overwritten.

    Parts go up side by side, each with a CRC32 that S3 checks. A failed upload leaves no parts
    behind. Raises `botocore`'s errors.
    """
    upload = s3.create_multipart_upload(
        Bucket=bucket,
        Key=key,
        Metadata=metadata,
        ContentType="application/gzip",
        ChecksumAlgorithm="CRC32",
    )["UploadId"]

    def send(number: int) -> "CompletedPartTypeDef":
        with path.open("rb") as file:
            file.seek((number - 1) * PART_BYTES)
            answer = s3.upload_part(
                Bucket=bucket,
                Key=key,
                UploadId=upload,
                PartNumber=number,
                Body=file.read(PART_BYTES),
                ChecksumAlgorithm="CRC32",
            )
        part: CompletedPartTypeDef = {"PartNumber": number, "ETag": answer["ETag"]}
        if "ChecksumCRC32" in answer:
            part["ChecksumCRC32"] = answer["ChecksumCRC32"]
        return part

    try:
        count = -(-path.stat().st_size // PART_BYTES) or 1
        with ThreadPoolExecutor(THREADS) as pool:
            parts = list(pool.map(send, range(1, count + 1)))
        s3.complete_multipart_upload(
            Bucket=bucket,
            Key=key,
            UploadId=upload,
            MultipartUpload={"Parts": parts},
            IfNoneMatch="*",
        )
    except BaseException as error:
        with contextlib.suppress(Exception):  # or it would hide why the upload failed
            s3.abort_multipart_upload(Bucket=bucket, Key=key, UploadId=upload)
        if isinstance(error, ClientError) and is_taken(error):
            return False
        raise
    return True


def is_taken(error: ClientError) -> bool:
    """Whether S3 refused a conditional write because the key has an object, or is getting one."""
    return bool(error.response["Error"]["Code"] in _TAKEN)
