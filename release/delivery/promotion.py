"""The same bytes that another stage has tried, in this stage's bucket."""

import hashlib
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from release.delivery.archive_bucket import ArchiveBucket, manifest_key
from release.delivery.errors import NotDelivered

if TYPE_CHECKING:
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef

PART_BYTES = 1024**3
"""UploadPartCopy takes 5 GiB at once, and 10,000 parts."""
READ_BYTES = 1024**2

_TAKEN = ("PreconditionFailed", "412", "ConditionalRequestConflict")


class Promoted(StrEnum):
    """What became of an archive."""

    COPIED = "copied"
    SAME = "there already"
    ABSENT = "not there to copy: it is built"


def promote(key: str, *, source: ArchiveBucket, to: ArchiveBucket) -> Promoted:
    """Copy an archive, its source and its manifest inside S3, each only where its key is free.

    Raises `NotDelivered` where the key holds other bytes: this stage has built the archive itself,
    and the two builds differ.
    """
    wanted, found = source.manifest(key), to.manifest(key)
    if wanted is None:
        return Promoted.SAME if found else Promoted.ABSENT
    if found is not None:
        _refuse_other_bytes(key, source, to, _sha256(wanted), _sha256(found))
        return Promoted.SAME
    kept = wanted.get("source")
    if kept and source.has(kept["key"]):
        _copy(kept["key"], source, to)
    if not _copy(key, source, to):
        _refuse_other_bytes(key, source, to, _sha256(wanted), _read_sha256(key, to))
    _copy(manifest_key(key), source, to)
    return Promoted.COPIED


def _copy(key: str, source: ArchiveBucket, to: ArchiveBucket) -> bool:
    """Return False where the key holds an object already."""
    head = source.s3.head_object(Bucket=source.name, Key=key)
    place: Any = {"Bucket": to.name, "Key": key}
    upload = to.s3.create_multipart_upload(
        **place, ContentType=head["ContentType"], Metadata=head["Metadata"]
    )["UploadId"]
    try:
        parts: list[CompletedPartTypeDef] = [
            {
                "PartNumber": number,
                "ETag": to.s3.upload_part_copy(
                    **place,
                    UploadId=upload,
                    PartNumber=number,
                    CopySource={"Bucket": source.name, "Key": key},
                    CopySourceIfMatch=head["ETag"],
                    CopySourceRange=bytes_range,
                )["CopyPartResult"]["ETag"],
            }
            for number, bytes_range in enumerate(_ranges(head["ContentLength"]), 1)
        ]
        to.s3.complete_multipart_upload(
            **place, UploadId=upload, MultipartUpload={"Parts": parts}, IfNoneMatch="*"
        )
    except BaseException as error:
        to.s3.abort_multipart_upload(**place, UploadId=upload)
        if isinstance(error, ClientError) and error.response["Error"]["Code"] in _TAKEN:
            return False
        raise
    return True


def _ranges(size: int) -> list[str]:
    return [
        f"bytes={start}-{min(start + PART_BYTES, size) - 1}" for start in range(0, size, PART_BYTES)
    ]


def _refuse_other_bytes(
    key: str, source: ArchiveBucket, to: ArchiveBucket, wanted: str, found: str
) -> None:
    if wanted != found:
        raise NotDelivered(
            f"s3://{to.name}/{key} holds other bytes (sha256 {found[:12]}...) than "
            f"s3://{source.name}/{key} ({wanted[:12]}...): it was built here, not promoted, and "
            "archives are never overwritten. Deliver without FROM_STAGE to serve what is here"
        )


def _sha256(manifest: dict[str, Any]) -> str:
    return str(manifest["archive"]["sha256"])


def _read_sha256(key: str, bucket: ArchiveBucket) -> str:
    """Read an archive without a manifest: only after a copy that was interrupted."""
    found = hashlib.sha256()
    for chunk in bucket.s3.get_object(Bucket=bucket.name, Key=key)["Body"].iter_chunks(READ_BYTES):
        found.update(chunk)
    return found.hexdigest()
