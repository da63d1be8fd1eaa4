"""Manifests in a model bucket, and the engines and sources that they reference."""

import json
from collections.abc import Collection
from typing import TYPE_CHECKING, Any

from model_build.archive import SUFFIX
from model_build.engines import accepted_results
from model_build.engines.job_bucket import list_keys

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client


def manifest_key(archive_key: str) -> str:
    """Return the key of the manifest that belongs to an archive's key."""
    return archive_key.removesuffix(SUFFIX) + ".json"


def read(s3: "S3Client", bucket: str, key: str) -> dict[str, Any]:
    """Return a manifest; its fields depend on the version of its builder."""
    content: dict[str, Any] = json.loads(s3.get_object(Bucket=bucket, Key=key)["Body"].read())
    return content


def read_existing(s3: "S3Client", bucket: str, key: str) -> dict[str, Any] | None:
    """Return a manifest, None if it does not exist."""
    try:
        return read(s3, bucket, key)
    except s3.exceptions.NoSuchKey:
        return None


def source_key(digest: str) -> str:
    """Return the key of the stored source of a model with this digest."""
    return f"sources/{digest}.zip"


def delete_unused_dependencies(
    s3: "S3Client", bucket: str, retired_manifests: Collection[str]
) -> list[str]:
    """Delete engines and sources that only `retired_manifests` reference; return their keys.

    References from manifests whose archive does not exist do not count.
    """
    prefixes = {
        prefix
        for key in retired_manifests
        for prefix in _dependency_prefixes(read(s3, bucket, key))
    }
    if not prefixes:
        return []
    keys = list_keys(s3, bucket, "")
    manifests = {manifest_key(key) for key in keys if key.endswith(SUFFIX)}
    for key in manifests.intersection(keys).difference(retired_manifests):
        prefixes -= _dependency_prefixes(read(s3, bucket, key))
    unused = sorted(key for key in keys if key.startswith(tuple(prefixes))) if prefixes else []
    # The result.json of each engine first: without it, no build reuses an engine's other files.
    unused.sort(key=lambda key: not key.endswith(".json"))
    for key in unused:
        s3.delete_object(Bucket=bucket, Key=key)
    return unused


def _dependency_prefixes(manifest: dict[str, Any]) -> set[str]:
    """Return the prefixes of the keys of an archive's engines and source.

    Manifests of earlier builders have neither `engines` nor `source`.
    """
    engines = {
        f"{accepted_results.PREFIX}{engine['job']}/"
        for engine in manifest.get("engines", {}).values()
    }
    return engines | ({source_key(manifest["digest"])} if manifest.get("source") else set())
