"""Put an archive into the model bucket: once, and never over another."""

import hashlib
from typing import TYPE_CHECKING

from model_build import archive
from model_build.archive import Archive
from model_build.build import Build
from model_build.errors import BuildError
from model_build.progress import Progress
from model_build.publishing import sources
from model_build.publishing.manifests import manifest_key
from model_build.publishing.upload import KeyTaken, new_object
from model_build.write_once import is_there, write_once

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

READ_BYTES = 1024 * 1024


def is_published(s3: "S3Client", *, bucket: str, key: str) -> bool:
    """Whether a complete archive is there: its manifest is written last."""
    return is_there(s3, bucket=bucket, key=manifest_key(key))


def publish(s3: "S3Client", built: Build, *, bucket: str, key: str, progress: Progress) -> Archive:
    """Pack the build straight into S3, keep its source, then write its manifest.

    Each is written only where nothing stands. What a killed process left behind is removed or
    completed. Raises `BuildError` when other bytes stand under the key, which a content-addressed
    name excludes unless somebody wrote there.
    """
    what = f"packing into s3://{bucket}/{key}"
    with progress.measure(what, total=archive.unpacked_bytes(built.folder)) as packed:
        try:
            with new_object(s3, bucket=bucket, key=key) as upload:
                written = archive.pack(built.folder, upload, packed=packed)
        except KeyTaken:
            written = archive.pack(built.folder, _Nowhere())
            _refuse_other_bytes(s3, written, bucket=bucket, key=key)
    manifest = built.manifest(written, sources.keep(s3, built, bucket=bucket))
    write_once(s3, bucket=bucket, key=manifest_key(key), body=manifest.json_bytes())
    return written


def _refuse_other_bytes(s3: "S3Client", expected: Archive, *, bucket: str, key: str) -> None:
    """Read back what stands there: only a build that ended between archive and manifest pays."""
    found = hashlib.sha256()
    for chunk in s3.get_object(Bucket=bucket, Key=key)["Body"].iter_chunks(READ_BYTES):
        found.update(chunk)
    if found.hexdigest() != expected.sha256:
        raise BuildError(
            f"s3://{bucket}/{key} holds other bytes (sha256 {found.hexdigest()}) than this build "
            f"({expected.sha256}): archives are never overwritten. Delete it by hand if nothing "
            "serves it, or raise BUILD_FORMAT in model_build/digest.py if the builder now makes "
            "other archives"
        )


class _Nowhere:
    def write(self, chunk: bytes, /) -> int:
        return len(chunk)
