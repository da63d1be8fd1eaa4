"""The same bytes that another stage has tried, in this stage's bucket."""

import base64
import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from release.delivery.archive_bucket import (
    ArchiveBucket,
    manifest_key,
    other_bytes,
    recorded_checksum,
    source_key,
)
from release.delivery.errors import NotDelivered

if TYPE_CHECKING:
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef, HeadObjectOutputTypeDef

SOURCE_PART_BYTES = 1024**3
"""UploadPartCopy takes 5 GiB at once, and 10,000 parts."""
PARTS_AT_ONCE = 8

_TAKEN = ("PreconditionFailed", "412", "ConditionalRequestConflict")


class Promoted(StrEnum):
    """What became of an archive."""

    COPIED = "copied"
    SAME = "there already"
    ABSENT = "not there to copy: it is built"
    UNRECORDED = "of a builder that recorded no SHA-256: it is built"


def promote(key: str, *, digest: str, source: ArchiveBucket, to: ArchiveBucket) -> Promoted:
    """Copy an archive, its source and its manifest inside S3, each only where its key is free.

    `digest` is the one that this stage asks for under `key`. The copy is completed only with the
    SHA-256 that the other stage's builder recorded, in the manifest that nobody else may write.
    Raises `NotDelivered` where the other stage's archive is of another digest, has other bytes or
    no source; and where this stage's key holds other bytes.
    """
    manifest, own = source.manifest(key), to.manifest(key)
    if manifest and own and manifest["archive"]["sha256"] != own["archive"]["sha256"]:
        raise _built_here(key, source, to, manifest, recorded_checksum(own))
    if to.is_complete(key):
        return Promoted.SAME
    if manifest is None or source.checksum(key) is None:
        return Promoted.ABSENT
    recorded = recorded_checksum(manifest)
    if recorded is None:
        return Promoted.UNRECORDED
    _refuse_other_content(key, manifest, digest, source)
    try:
        if to.checksum(source_key(digest)) is None:
            _copy(source_key(digest), source, to, part_bytes=SOURCE_PART_BYTES)
        part_bytes = int(manifest["archive"]["part_bytes"])
        if not _copy(key, source, to, part_bytes=part_bytes, recorded=recorded):
            there = to.checksum(key)
            if there != recorded:
                raise _built_here(key, source, to, manifest, there)
        _write_manifest(key, manifest, to)
    except ClientError as error:
        if error.response["Error"]["Code"] != "AccessDenied":
            raise
        raise NotDelivered(
            f"s3://{to.name}/{key}: AWS denies the copy ({error}). Only builds and the deploy role "
            "of the stage's workflow write archives: deliver by the workflow, or without "
            "FROM_STAGE, which builds what is missing"
        ) from None
    return Promoted.COPIED


def _refuse_other_content(
    key: str, manifest: dict[str, Any], digest: str, source: ArchiveBucket
) -> None:
    """Raise `NotDelivered` unless a builder has made the archive of this digest."""
    place = f"s3://{source.name}/{key}"
    if manifest["digest"] != digest:
        raise NotDelivered(
            f"{place}: its manifest is of the digest {manifest['digest']}, and this commit's model "
            f"has {digest}: somebody has replaced it. Delete both, and deliver that stage again, "
            "which builds it"
        )
    source.is_complete(key)  # or it says which bytes are there
    kept = source_key(digest)
    if not manifest.get("source") or source.checksum(kept) is None:
        raise NotDelivered(
            f"{place}: s3://{source.name}/{kept}, which a builder keeps of what it builds, is not "
            "there: no builder has made this archive, or its source was deleted. Delete archive "
            "and manifest, and deliver that stage again; or deliver without FROM_STAGE"
        )


def _copy(
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
        if isinstance(error, ClientError) and error.response["Error"]["Code"] in _TAKEN:
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


def _write_manifest(key: str, manifest: dict[str, Any], to: ArchiveBucket) -> None:
    """Write what was verified, and not what may stand in the other bucket by now."""
    try:
        to.s3.put_object(
            Bucket=to.name,
            Key=manifest_key(key),
            Body=json.dumps(manifest, indent=2).encode() + b"\n",
            ContentType="application/json",
            IfNoneMatch="*",
        )
    except ClientError as error:
        if error.response["Error"]["Code"] not in _TAKEN:
            raise


def _built_here(
    key: str,
    source: ArchiveBucket,
    to: ArchiveBucket,
    manifest: dict[str, Any],
    there: str | None,
) -> NotDelivered:
    return NotDelivered(
        f"s3://{to.name}/{key} holds other bytes (SHA-256 {there or 'not recorded'}) than "
        f"s3://{source.name}/{key} ({recorded_checksum(manifest) or 'not recorded'}): it was built "
        "here, not promoted, and archives are never overwritten. Deliver without FROM_STAGE to "
        "serve what is here"
    )
