"""Manifests in a model bucket, read."""

import json
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, Any

from model_build.archive import SUFFIX
from model_build.engines.job_bucket import keys_below

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def manifest_key(archive_key: str) -> str:
    """Return the key of the manifest that belongs to an archive's key."""
    return archive_key.removesuffix(SUFFIX) + ".json"


def read(s3: "S3Client", bucket: str, key: str) -> dict[str, Any]:
    """Return what a manifest says, whatever builder wrote it."""
    content: dict[str, Any] = json.loads(s3.get_object(Bucket=bucket, Key=key)["Body"].read())
    return content


def read_if_there(s3: "S3Client", bucket: str, key: str) -> dict[str, Any] | None:
    """Return what a manifest says, None where there is none."""
    try:
        return read(s3, bucket, key)
    except s3.exceptions.NoSuchKey:
        return None


def manifests_besides(
    s3: "S3Client", bucket: str, retired: Collection[str]
) -> Iterator[dict[str, Any]]:
    """Yield every manifest of a bucket but those in `retired`: each stands beside its archive."""
    keys = keys_below(s3, bucket, "")
    manifests = {manifest_key(key) for key in keys if key.endswith(SUFFIX)}
    for key in manifests.intersection(keys).difference(retired):
        yield read(s3, bucket, key)
