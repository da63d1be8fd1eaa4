"""Copy archives of another stage into this stage's bucket, after verifying them."""

import json
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from delivery.errors import NotDelivered
from plan.archives import ArchiveBucket, ArchiveReplaced
from platform_facts.rules.bucket_keys import manifest_key, source_key

if TYPE_CHECKING:
    from mypy_boto3_s3.type_defs import CompletedPartTypeDef

CONCURRENT_PARTS = 8

SOURCE_PART_BYTES = 1024**3
"""Part size for sources; UploadPartCopy allows parts of 5 GiB, and 10,000 parts."""
COPIED, PRESENT, ABSENT = (
    "copied",
    "exists already",
    "missing in the source stage, built later",
)


def promote_archive(key: str, *, digest: str, source: ArchiveBucket, target: ArchiveBucket) -> str:
    """Copy an archive, its source and its manifest within S3, each only if its key is free.

    The target stage needs an archive of `digest` under `key`. A copy is completed only if its
    SHA-256 is the one in the source's manifest, which only builders may write. Return `COPIED`,
    `PRESENT` or `ABSENT`. Raise `NotDelivered` if the source's archive has another digest or no
    source, or if the target's archive has another SHA-256 than the source's; raise
    `ArchiveReplaced` if one of them has another SHA-256 than its manifest records.
    """
    manifest, target_manifest = source.manifest(key), target.manifest(key)
    recorded = manifest["archive"].get("checksum") if manifest else None
    if recorded and target_manifest and recorded != target_manifest["archive"].get("checksum"):
        raise _built_separately(key, source, target)
    if target.is_complete(key):
        return PRESENT
    if manifest is None or recorded is None or source.checksum(key) is None:
        return ABSENT
    _verify_source(key, manifest, digest, source)
    try:
        if target.checksum(source_key(digest)) is None:
            copy_object(source_key(digest), source, target, part_bytes=SOURCE_PART_BYTES)
        part_bytes = int(manifest["archive"]["part_bytes"])
        is_copied = copy_object(key, source, target, part_bytes=part_bytes, recorded=recorded)
        if not is_copied and target.checksum(key) != recorded:
            raise _built_separately(key, source, target)
        # The verified manifest, even if that of the source bucket has changed since.
        target.write_once(manifest_key(key), json.dumps(manifest, indent=2).encode() + b"\n")
    except ClientError as error:
        if error.response["Error"]["Code"] != "AccessDenied":
            raise
        raise NotDelivered(
            f"s3://{target.name}/{key}: AWS denies the copy ({error}). Only builds and the deploy "
            "role of the stage's workflow write archives: deliver by the workflow, or without "
            "FROM_STAGE, to build the missing archives"
        ) from None
    return COPIED


def _verify_source(key: str, manifest: dict[str, Any], digest: str, source: ArchiveBucket) -> None:
    """Raise `NotDelivered` unless a builder has made the archive of this digest."""
    url = f"s3://{source.name}/{key}"
    if manifest["digest"] != digest:
        raise NotDelivered(
            f"{url}: its manifest has the digest {manifest['digest']}, and this commit's model "
            f"{digest}: the archive was replaced. Delete archive and manifest, and deliver the "
            "stage of this bucket again, to build it"
        )
    source.is_complete(key)  # raises for another SHA-256
    archive_source = source_key(digest)
    if not manifest.get("source") or source.checksum(archive_source) is None:
        raise NotDelivered(
            f"{url}: its source s3://{source.name}/{archive_source} does not exist: no "
            "builder has made this archive, or its source was deleted. Delete archive and "
            "manifest, and deliver the stage of this bucket again; or deliver without FROM_STAGE"
        )


def _built_separately(key: str, source: ArchiveBucket, target: ArchiveBucket) -> NotDelivered:
    """Return the error for two different archives under one key."""
    return NotDelivered(
        f"s3://{target.name}/{key} and s3://{source.name}/{key} have different SHA-256: the first "
        "was built, not promoted, and archives are never overwritten. Deliver without FROM_STAGE "
        "to serve it"
    )


def copy_object(
    key: str,
    source: ArchiveBucket,
    target: ArchiveBucket,
    *,
    part_bytes: int,
    recorded: str | None = None,
) -> bool:
    """Copy an object; return False if the target bucket already has an object under the key.

    Raise `ArchiveReplaced` if the copy would not have the `recorded` SHA-256. A copy in parts of
    the original's part size has the SHA-256 of the original: S3 returns the SHA-256 of each copied
    part (API reference, CopyPartResult).
    """
    head = source.s3.head_object(Bucket=source.name, Key=key)
    size, etag = head["ContentLength"], head["ETag"]

    def copy_part(upload: dict[str, Any], number: int) -> "CompletedPartTypeDef":
        start = (number - 1) * part_bytes
        result = target.s3.upload_part_copy(
            **upload,
            PartNumber=number,
            CopySource={"Bucket": source.name, "Key": key},
            CopySourceIfMatch=etag,
            CopySourceRange=f"bytes={start}-{min(start + part_bytes, size) - 1}",
        )["CopyPartResult"]
        checksum = result["ChecksumSHA256"]
        return {"PartNumber": number, "ETag": result["ETag"], "ChecksumSHA256": checksum}

    def verify(copied: str) -> None:
        if recorded and copied != recorded:
            raise ArchiveReplaced(source.name, key, recorded, copied)

    return target.write_parts_once(
        key,
        copy_part,
        range(1, -(-size // part_bytes) + 1),
        threads=CONCURRENT_PARTS,
        verify=verify,
        ContentType=head["ContentType"],
        Metadata=head["Metadata"],
    )
