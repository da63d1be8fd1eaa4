"""Archives in the model bucket, which are never overwritten."""

from pathlib import Path
from tempfile import TemporaryDirectory

from model_build import archive
from model_build.build import Build
from model_build.errors import BuildError
from model_build.manifest import StoredSource
from model_build.progress import Progress
from model_build.publishing import upload
from model_build.triton_load import Load
from plan.archives import ArchiveBucket
from platform_facts.rules.bucket_keys import manifest_key


def publish(
    bucket: ArchiveBucket,
    build: Build,
    *,
    key: str,
    load: Load,
    progress: Progress,
    source: StoredSource | None = None,
) -> None:
    """Upload the archive of a build, then its manifest; `source` is the stored source, if any.

    Nothing is uploaded unless `load` accepts the archive. Existing objects are not
    overwritten. Unfinished uploads of the key are removed. Raise `BuildError` if the existing
    archive or manifest has another SHA-256.
    """
    existing_manifest = bucket.manifest(key)
    with TemporaryDirectory(prefix="archive-") as scratch:
        path = Path(scratch, "archive")
        progress("packing")
        packed_archive = archive.pack(build.folder, path)
        checksum = upload.checksum(path)
        if existing_manifest:
            recorded_checksum = existing_manifest["archive"].get("checksum", checksum)
            if recorded_checksum != checksum:
                raise _checksum_error(bucket, manifest_key(key), recorded_checksum, checksum)
        record = load(build, path, progress)
        progress(f"uploading {packed_archive.bytes / 1e6:.1f} MB to s3://{bucket.name}/{key}")
        if not upload.upload(bucket, path, key=key):
            object_checksum = bucket.checksum(key)
            if object_checksum != checksum:
                raise _checksum_error(bucket, key, object_checksum, checksum)
    manifest = build.manifest(
        packed_archive,
        load=record,
        checksum={"checksum": checksum, "part_bytes": upload.PART_BYTES},
        source=source,
    )
    bucket.write_once(manifest_key(key), manifest.json_bytes())


def _checksum_error(
    bucket: ArchiveBucket, key: str, object_checksum: str | None, expected: str
) -> BuildError:
    return BuildError(
        f"s3://{bucket.name}/{key} holds other bytes (SHA-256 {object_checksum or 'unknown'}) than "
        f"this build ({expected}): archives are never overwritten. Delete it by hand if nothing "
        "serves it, or raise BUILD_FORMAT in model_build/digest.py if the builder now makes other "
        "archives"
    )
