"""Put an archive into the model bucket: once, and never over another."""

from typing import TYPE_CHECKING

from boto3.s3.transfer import TransferConfig
from botocore.exceptions import ClientError

from model_build.build import Build
from model_build.errors import BuildError

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

PART_BYTES = 64 * 1024 * 1024


def manifest_key(archive_key: str) -> str:
    """Return the key of the manifest that belongs to an archive's key."""
    return archive_key.removesuffix(".tar.gz") + ".json"


def exists(s3: "S3Client", bucket: str, key: str) -> bool:
    """Whether a complete archive is there: its manifest is written last."""
    try:
        s3.head_object(Bucket=bucket, Key=manifest_key(key))
    except ClientError as error:
        if error.response["Error"]["Code"] in ("404", "NoSuchKey", "NotFound"):
            return False
        raise
    return True


def publish(s3: "S3Client", built: Build, *, bucket: str, key: str) -> None:
    """Upload the archive, then its manifest, each only if nothing stands there yet.

    What a broken upload left behind is completed. Raises `BuildError` when other bytes stand under
    the key, which a content-addressed name excludes unless somebody wrote there by hand.
    """
    if not _upload_archive(s3, built, bucket, key):
        found = s3.head_object(Bucket=bucket, Key=key)["Metadata"].get("sha256")
        if found != built.archive.sha256:
            raise BuildError(
                f"s3://{bucket}/{key} holds other bytes (sha256 {found}) than this build "
                f"({built.archive.sha256}): archives are never overwritten. Delete it by hand if "
                "nothing serves it, or raise BUILD_FORMAT in model_build/digest.py if the builder "
                "now makes other archives"
            )
    try:
        s3.put_object(
            Bucket=bucket,
            Key=manifest_key(key),
            Body=built.manifest.json_bytes(),
            ContentType="application/json",
            IfNoneMatch="*",
        )
    except ClientError as error:
        if not _exists_already(error):
            raise


def _upload_archive(s3: "S3Client", built: Build, bucket: str, key: str) -> bool:
    """Return False when an object stands under the key already."""
    try:
        s3.upload_file(
            str(built.archive.path),
            bucket,
            key,
            ExtraArgs={
                "Metadata": {"sha256": built.archive.sha256},
                "ContentType": "application/gzip",
                "IfNoneMatch": "*",
            },
            Config=TransferConfig(multipart_threshold=PART_BYTES, multipart_chunksize=PART_BYTES),
        )
    except ClientError as error:
        if _exists_already(error):
            return False
        raise
    return True


def _exists_already(error: ClientError) -> bool:
    return bool(error.response["Error"]["Code"] in ("PreconditionFailed", "412"))
