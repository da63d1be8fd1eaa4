"""`retire`: delete the archives of a version, with engines and sources that only they use."""

import argparse
from collections import defaultdict
from collections.abc import Collection
from typing import Any

import boto3

from model_build.archive import SUFFIX, file_name
from model_build.commands.arguments import Commands, add_command, add_endpoint
from model_build.commands.outcome import Outcome
from model_build.commands.stage_events import (
    check_no_delivery_in_progress,
    check_version_not_delivered,
    record_event,
    served_prefixes,
)
from model_build.errors import BuildError
from plan.archives import ArchiveBucket
from plan.catalog import Catalog
from platform_facts.rules.bucket_keys import ENGINES, PUBLISHED, manifest_key, source_key


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(
        commands,
        "retire",
        run,
        summary="delete the archives of one version of a model, and engines and sources that no "
        "other archive has; never an archive that the catalog or one of the last deliveries names",
        examples=["retire dev text minilm 0123456789ab"],
    )
    add_endpoint(parser)
    parser.add_argument("model", metavar="NAME", help="the model's name in the catalog")
    parser.add_argument("version", metavar="VERSION", help="12 digits, as in the archive's name")


def run(options: argparse.Namespace) -> Outcome:
    """Delete a version's archives, and engines and sources that no other archive uses.

    Archives and their manifests are deleted below all prefixes of the endpoint.
    """
    catalog = Catalog(boto3.client("dynamodb"), options.stage, options.endpoint)
    endpoint_name = catalog.endpoint_name()
    prefixes = served_prefixes(endpoint_name)
    check_no_delivery_in_progress(options, prefixes[0].bucket)
    archive_name = file_name(options.model, options.version)
    archives = (archive_name, PUBLISHED + archive_name)
    for name, revision in catalog.current([options.model]).items():
        if (archive := revision.entry.get("target_model")) in archives:
            raise BuildError(
                f"the catalog names {archive} for {name}: clients are sent there. "
                "Publish another version or roll back first"
            )
    check_version_not_delivered(options, prefixes[0].bucket)
    s3 = boto3.client("s3")
    archives_by_bucket: dict[str, list[str]] = defaultdict(list)
    for prefix in prefixes:
        archives_by_bucket[prefix.bucket] += [prefix.prefix + archive for archive in archives]
    deleted = [
        location
        for bucket in archives_by_bucket
        for location in _delete(ArchiveBucket(s3, bucket), archives_by_bucket[bucket])
    ]
    if not deleted:
        missing = f"{endpoint_name} has no version {options.version} of {options.model}"
        return Outcome(text=f"{missing}: nothing to delete", data=[])
    record_event(options, "retire", {options.model: options.version}, prefixes[0].bucket)
    return Outcome(text="\n".join(f"deleted {location}" for location in deleted), data=deleted)


def _delete(bucket: ArchiveBucket, archives: list[str]) -> list[str]:
    """Delete engines and sources, then manifests, then archives, so that a retry can continue."""
    existing = {key for archive in archives for key in bucket.times(archive.removesuffix(SUFFIX))}
    retired = [archive for archive in archives if manifest_key(archive) in existing]
    deleted = _delete_unused_dependencies(bucket, retired)
    for archive in archives:
        for key in (manifest_key(archive), archive):  # an archive without a manifest is not served
            if key in existing:
                bucket.s3.delete_object(Bucket=bucket.name, Key=key)
                deleted.append(key)
    return [f"s3://{bucket.name}/{key}" for key in deleted]


def _delete_unused_dependencies(bucket: ArchiveBucket, retired: Collection[str]) -> list[str]:
    """Delete engines and sources that only the `retired` archives use; return their keys."""
    prefixes = {
        prefix for archive in retired for prefix in _dependency_prefixes(bucket.manifest(archive))
    }
    if not prefixes:
        return []
    keys = bucket.times("")
    for key in keys:
        if key.endswith(SUFFIX) and key not in retired:
            prefixes -= _dependency_prefixes(bucket.manifest(key))
    unused = sorted(key for key in keys if key.startswith(tuple(prefixes))) if prefixes else []
    # The result.json of each engine first: without it, no build reuses an engine's other files.
    unused.sort(key=lambda key: not key.endswith(".json"))
    for key in unused:
        bucket.s3.delete_object(Bucket=bucket.name, Key=key)
    return unused


def _dependency_prefixes(manifest: dict[str, Any] | None) -> set[str]:
    """Return the prefixes of the keys of an archive's engines and source.

    Manifests of earlier builders have neither `engines` nor `source`.
    """
    if manifest is None:
        return set()
    engines = {f"{ENGINES}{engine['job']}/" for engine in manifest.get("engines", {}).values()}
    return engines | ({source_key(manifest["digest"])} if manifest.get("source") else set())
