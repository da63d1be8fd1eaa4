"""Put an archive into the model bucket: once, and never over another."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from model_build import archive
from model_build.build import Build
from model_build.errors import BuildError
from model_build.manifest import Source
from model_build.progress import Progress
from model_build.publishing import upload
from model_build.publishing.manifests import manifest_key, read_if_there
from model_build.write_once import write_once

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def is_published(s3: "S3Client", *, bucket: str, key: str) -> bool:
    """Whether a complete archive is there: a manifest, and the bytes that it records.

    The manifest is written last. Raises `BuildError` where the archive has other bytes than it
    records; what builders recorded before they kept checksums is not compared.
    """
    manifest = read_if_there(s3, bucket, manifest_key(key))
    if manifest is None:
        return False
    there = _checksum(s3, bucket=bucket, key=key)
    if there is not None and there != _recorded(manifest, instead=there):
        raise BuildError(
            f"s3://{bucket}/{key} has the SHA-256 {there or 'of no builder'}, and its manifest "
            f"records {_recorded(manifest)}: somebody has replaced it. Delete the archive, and "
            "deliver or publish again"
        )
    return there is not None


def publish(
    s3: "S3Client",
    built: Build,
    *,
    bucket: str,
    key: str,
    progress: Progress,
    source: Source | None = None,
) -> None:
    """Upload the archive of a build, then its manifest; `source` is what the bucket keeps of it.

    Each is written only where the key has no object. Parts that a killed process left are removed,
    and an archive that was deleted is written again. Raises `BuildError` where the key, or its
    manifest, has another SHA-256, which a content-addressed name excludes unless somebody wrote
    there.
    """
    recorded = read_if_there(s3, bucket, manifest_key(key))
    with TemporaryDirectory(prefix="archive-") as scratch:
        path = Path(scratch, "archive")
        progress("packing")
        written = archive.pack(built.folder, path)
        checksum = upload.checksum(path)
        if recorded and _recorded(recorded, instead=checksum) != checksum:
            raise _other_bytes(bucket, manifest_key(key), _recorded(recorded), checksum)
        progress(f"uploading {written.bytes / 1e6:.1f} MB to s3://{bucket}/{key}")
        try:
            upload.upload(s3, path, bucket=bucket, key=key)
        except upload.KeyTaken:
            there = _checksum(s3, bucket=bucket, key=key)
            if there != checksum:
                raise _other_bytes(bucket, key, there, checksum) from None
    manifest = built.manifest(
        written, checksum={"checksum": checksum, "part_bytes": upload.PART_BYTES}, source=source
    )
    write_once(s3, bucket=bucket, key=manifest_key(key), body=manifest.json_bytes())


def _recorded(manifest: Mapping[str, Any], *, instead: str = "") -> str:
    """Return the checksum that a manifest records, `instead` where it is of an earlier builder."""
    return str(manifest["archive"].get("checksum", instead))


def _checksum(s3: "S3Client", *, bucket: str, key: str) -> str | None:
    """Return the SHA-256 that S3 keeps of an object, empty of one without; None without an object.

    An upload in parts has one of the parts' (S3 user guide, "Checking object integrity").
    """
    try:
        head = s3.head_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")
    except ClientError as error:
        if error.response["Error"]["Code"] == "404":  # to HEAD, S3 answers with a status alone
            return None
        raise
    return head.get("ChecksumSHA256", "")


def _other_bytes(bucket: str, key: str, there: str | None, expected: str) -> BuildError:
    return BuildError(
        f"s3://{bucket}/{key} holds other bytes (SHA-256 {there or 'unknown'}) than this build "
        f"({expected}): archives are never overwritten. Delete it by hand if nothing serves it, or "
        "raise BUILD_FORMAT in model_build/digest.py if the builder now makes other archives"
    )
