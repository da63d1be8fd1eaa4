"""Archives in the model bucket, which are never overwritten."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from model_build import archive
from model_build.build import Build
from model_build.errors import BuildError
from model_build.manifest import StoredSource
from model_build.progress import Progress
from model_build.publishing import upload
from model_build.publishing.manifests import manifest_key, read_existing
from model_build.triton_load import Load
from model_build.write_once import write_once

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def is_published(s3: "S3Client", *, bucket: str, key: str) -> bool:
    """Return whether an archive and its manifest, which is written last, exist.

    Raises `BuildError` if the archive does not have the checksum of the manifest. Manifests of
    earlier builders have no checksum.
    """
    manifest = read_existing(s3, bucket, manifest_key(key))
    if manifest is None:
        return False
    object_checksum = read_checksum(s3, bucket=bucket, key=key)
    if object_checksum is not None and object_checksum != _recorded_checksum(
        manifest, default=object_checksum
    ):
        raise BuildError(
            f"s3://{bucket}/{key} has the SHA-256 {object_checksum or '(none)'}, and its manifest "
            f"records {_recorded_checksum(manifest)}: the archive was replaced. Delete it, and "
            "deliver or publish again"
        )
    return object_checksum is not None


def publish(
    s3: "S3Client",
    build: Build,
    *,
    bucket: str,
    key: str,
    load: Load,
    progress: Progress,
    source: StoredSource | None = None,
) -> None:
    """Upload the archive of a build, then its manifest; `source` is the stored source, if any.

    Nothing is uploaded unless `load` accepts the archive. Existing objects are not
    overwritten. Unfinished uploads of the key are removed. Raises `BuildError` if the existing
    archive or manifest has another SHA-256.
    """
    existing_manifest = read_existing(s3, bucket, manifest_key(key))
    with TemporaryDirectory(prefix="archive-") as scratch:
        path = Path(scratch, "archive")
        progress("packing")
        packed_archive = archive.pack(build.folder, path)
        checksum = upload.checksum(path)
        if (
            existing_manifest
            and _recorded_checksum(existing_manifest, default=checksum) != checksum
        ):
            raise _checksum_error(
                bucket, manifest_key(key), _recorded_checksum(existing_manifest), checksum
            )
        record = load(build, path, progress)
        progress(f"uploading {packed_archive.bytes / 1e6:.1f} MB to s3://{bucket}/{key}")
        try:
            upload.upload(s3, path, bucket=bucket, key=key)
        except upload.KeyTaken:
            object_checksum = read_checksum(s3, bucket=bucket, key=key)
            if object_checksum != checksum:
                raise _checksum_error(bucket, key, object_checksum, checksum) from None
    manifest = build.manifest(
        packed_archive,
        load=record,
        checksum={"checksum": checksum, "part_bytes": upload.PART_BYTES},
        source=source,
    )
    write_once(s3, bucket=bucket, key=manifest_key(key), body=manifest.json_bytes())


def _recorded_checksum(manifest: Mapping[str, Any], *, default: str = "") -> str:
    """Return the checksum in a manifest; manifests of earlier builders have none."""
    return str(manifest["archive"].get("checksum", default))


def read_checksum(s3: "S3Client", *, bucket: str, key: str) -> str | None:
    """Return S3's SHA-256 of an object, empty if it has none; None if there is no object.

    A multipart upload has a checksum of the parts' checksums (S3 user guide, "Checking object
    integrity").
    """
    try:
        head = s3.head_object(Bucket=bucket, Key=key, ChecksumMode="ENABLED")
    except ClientError as error:
        if error.response["Error"]["Code"] == "404":  # responses to HEAD have no error code
            return None
        raise
    return head.get("ChecksumSHA256", "")


def _checksum_error(
    bucket: str, key: str, object_checksum: str | None, expected: str
) -> BuildError:
    return BuildError(
        f"s3://{bucket}/{key} holds other bytes (SHA-256 {object_checksum or 'unknown'}) than this "
        f"build ({expected}): archives are never overwritten. Delete it by hand if nothing serves "
        "it, or raise BUILD_FORMAT in model_build/digest.py if the builder now makes other archives"
    )
