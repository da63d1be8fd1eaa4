"""Put an archive into the model bucket: once, and never over another."""

from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from model_build.build import Build
from model_build.errors import BuildError
from model_build.upload import is_taken, upload_new

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def manifest_key(archive_key: str) -> str:
    """Return the key of the manifest that belongs to an archive's key."""
    return archive_key.removesuffix(".tar.gz") + ".json"


def is_published(s3: "S3Client", *, bucket: str, key: str) -> bool:
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
    sha256 = built.archive.sha256
    if not upload_new(s3, built.archive.path, bucket=bucket, key=key, metadata={"sha256": sha256}):
        found = s3.head_object(Bucket=bucket, Key=key)["Metadata"].get("sha256")
        if found != sha256:
            raise BuildError(
                f"s3://{bucket}/{key} holds other bytes (sha256 {found}) than this build "
                f"({sha256}): archives are never overwritten. Delete it by hand if nothing serves "
                "it, or raise BUILD_FORMAT in model_build/digest.py if the builder now makes other "
                "archives"
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
        if not is_taken(error):
            raise
