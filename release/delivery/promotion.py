"""Copy archives of another stage into this stage's bucket, after verifying them."""

import json
from typing import Any

from botocore.exceptions import ClientError

from release.delivery.archive_bucket import ArchiveBucket, manifest_key, source_key
from release.delivery.errors import NotDelivered
from release.delivery.verified_copy import TAKEN, copy

SOURCE_PART_BYTES = 1024**3
"""UploadPartCopy takes 5 GiB at once, and 10,000 parts."""
COPIED, PRESENT, ABSENT = "copied", "exists already", "not in the other stage: it is built"


def promote(key: str, *, digest: str, source: ArchiveBucket, to: ArchiveBucket) -> str:
    """Copy an archive, its source and its manifest within S3, each only if its key is free.

    This stage needs an archive of `digest` under `key`. A copy is completed only with the SHA-256
    that the other stage's builder recorded in the manifest, which only builders may write. Return
    `COPIED`, `PRESENT` or `ABSENT`. Raise `NotDelivered` if the other stage's archive has another
    digest, another SHA-256 or no source, or if this stage's archive has another SHA-256.
    """
    manifest, own = source.manifest(key), to.manifest(key)
    recorded = manifest["archive"].get("checksum") if manifest else None
    if recorded and own and recorded != own["archive"].get("checksum"):
        raise _built_here(key, source, to)
    if to.is_complete(key):
        return PRESENT
    if manifest is None or recorded is None or source.checksum(key) is None:
        return ABSENT
    _verify_source(key, manifest, digest, source)
    try:
        if to.checksum(source_key(digest)) is None:
            copy(source_key(digest), source, to, part_bytes=SOURCE_PART_BYTES)
        part_bytes = int(manifest["archive"]["part_bytes"])
        is_copied = copy(key, source, to, part_bytes=part_bytes, recorded=recorded)
        if not is_copied and to.checksum(key) != recorded:
            raise _built_here(key, source, to)
        _write_manifest(key, manifest, to)
    except ClientError as error:
        if error.response["Error"]["Code"] != "AccessDenied":
            raise
        raise NotDelivered(
            f"s3://{to.name}/{key}: AWS denies the copy ({error}). Only builds and the deploy role "
            "of the stage's workflow write archives: deliver by the workflow, or without "
            "FROM_STAGE, which builds what is missing"
        ) from None
    return COPIED


def _verify_source(key: str, manifest: dict[str, Any], digest: str, source: ArchiveBucket) -> None:
    """Raise `NotDelivered` unless a builder has made the archive of this digest."""
    place = f"s3://{source.name}/{key}"
    if manifest["digest"] != digest:
        raise NotDelivered(
            f"{place}: its manifest has the digest {manifest['digest']}, and this commit's model "
            f"{digest}: the archive was replaced. Delete archive and manifest, and deliver that "
            "stage again, which builds it"
        )
    source.is_complete(key)  # raises for another SHA-256
    source_of_archive = source_key(digest)
    if not manifest.get("source") or source.checksum(source_of_archive) is None:
        raise NotDelivered(
            f"{place}: its source s3://{source.name}/{source_of_archive} does not exist: no "
            "builder has made this archive, or its source was deleted. Delete archive and "
            "manifest, and deliver that stage again; or deliver without FROM_STAGE"
        )


def _write_manifest(key: str, manifest: dict[str, Any], to: ArchiveBucket) -> None:
    """Write the manifest that was verified, even if the other bucket's has changed since."""
    try:
        to.s3.put_object(
            Bucket=to.name,
            Key=manifest_key(key),
            Body=json.dumps(manifest, indent=2).encode() + b"\n",
            ContentType="application/json",
            IfNoneMatch="*",
        )
    except ClientError as error:
        if error.response["Error"]["Code"] not in TAKEN:
            raise


def _built_here(key: str, source: ArchiveBucket, to: ArchiveBucket) -> NotDelivered:
    return NotDelivered(
        f"s3://{to.name}/{key} and s3://{source.name}/{key} have different SHA-256: the first was "
        "built, not promoted, and archives are never overwritten. Deliver without FROM_STAGE to "
        "serve it"
    )
