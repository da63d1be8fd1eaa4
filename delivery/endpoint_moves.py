"""Moves of endpoints to other S3 prefixes, and the archives that must exist during a move.

During an update, old instances load archives from the old prefixes and new instances from the new
prefixes, while the catalog still has the old entries; CloudFormation deletes the entries of removed
models last. In a rollback, CloudFormation restores the endpoint first, while the catalog may have
new entries. Therefore every archive in the old or new catalog must exist below every old and new
prefix. Otherwise the update guard in the stack refuses the update.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from delivery.archive_bucket import ArchiveBucket, source_key
from delivery.catalog_differences import current_entries
from delivery.deployment import StageDeployment
from delivery.errors import NotDelivered
from plan import parameters
from release.stack_catalog import named_archives, prefixes
from release.stack_endpoints import StackEndpoint

BuildProperties = dict[str, str]
"""The input of a build: the properties of the archive's custom resource."""

PUBLISHED = "published/"
"""The folder of published archives below each prefix."""


@dataclass(frozen=True)
class EndpointMove:
    """The move of an endpoint of `stage` to other prefixes.

    `prefixes` are the old and new prefixes, `archives` are the archives in the old and new catalog.
    """

    stage: str
    endpoint: StackEndpoint
    prefixes: frozenset[str]
    archives: frozenset[str]

    def missing_archives(
        self, builds: Mapping[str, BuildProperties], bucket: ArchiveBucket
    ) -> Iterator[tuple[str, str]]:
        """Yield key and archive for each key that neither `builds` nor the bucket has."""
        for archive in sorted(self.archives):
            for key in self._keys(archive):
                if key not in builds and not bucket.is_complete(key):
                    yield key, archive

    def build_of(
        self,
        key: str,
        archive: str,
        builds: Mapping[str, BuildProperties],
        bucket: ArchiveBucket,
    ) -> BuildProperties:
        """Return the build of a key: the build of the same archive below another prefix, changed.

        Raise `NotDelivered` if no prefix has the archive, if its source was deleted, and for a
        published archive: the builder would run the publisher's recipe with the builder's role.
        """
        model, version = _model_and_version(archive)
        if archive.startswith(PUBLISHED):
            reason = f"version {version} of {model} was published by hand; deliveries do not "
            raise self._error(key, model, f"{reason}build or copy it")
        target = {"Key": key, "Target": key.removesuffix(f"/{archive}").rpartition("/")[2]}
        keys = self._keys(archive)
        for other_key in keys:
            if other_key in builds:
                return {**builds[other_key], **target}
        manifest = next(filter(None, map(bucket.manifest, keys)), None)
        if manifest is None:
            folders = ", ".join(sorted(self.prefixes))
            raise self._error(key, model, f"the catalog names it, but none of {folders} has it")
        source = source_key(manifest["digest"])
        if bucket.checksum(source) is None:
            raise self._error(key, model, f"its source s3://{bucket.name}/{source} was deleted")
        location = {"Bucket": bucket.name, "Source": f"{bucket.name}/{source}"}
        return {**build_properties(manifest), **target, **location}

    def _keys(self, archive: str) -> list[str]:
        """Return the keys of an archive below all prefixes."""
        return [prefix + archive for prefix in sorted(self.prefixes)]

    def _error(self, key: str, model: str, reason: str) -> NotDelivered:
        arguments = f"{self.stage} {self.endpoint.short_name} {model}"
        entry = parameters.entry(self.stage, self.endpoint.short_name, model)
        return NotDelivered(
            f"{key}: {reason}. {self.endpoint.name} cannot move without it. Deliver this version "
            f"of {model} before the move; or go back to a delivered version: tritonsm rollback "
            f"{arguments}; or, if no client uses {model}: aws ssm delete-parameter --name {entry}"
        )


def find_moves(deployment: StageDeployment) -> Iterator[EndpointMove]:
    """Yield a move for each endpoint whose prefixes change."""
    stage, ssm = deployment.assembly.stage, deployment.session.client("ssm")
    for endpoint in deployment.assembly.endpoints:
        live_template = deployment.live_template(endpoint)
        if live_template is None:
            continue
        new_template = deployment.new_template(endpoint)
        old_prefixes, new_prefixes = prefixes(live_template), prefixes(new_template)
        if old_prefixes == new_prefixes or not old_prefixes or not new_prefixes:
            continue  # the guard refuses a change between single-model and multi-model hosting
        entries = current_entries(ssm, stage, endpoint.short_name).values()
        archives = {entry["target_model"] for entry in entries if entry.get("target_model")}
        yield EndpointMove(
            stage, endpoint, old_prefixes | new_prefixes, named_archives(new_template) | archives
        )


def build_properties(manifest: Mapping[str, Any]) -> BuildProperties:
    """Return the build properties in a manifest, which has no bucket, key and target."""
    source = manifest["source"]
    return {
        "Model": source["model"],
        "Alternative": source["alternative"] or "",
        "Digest": manifest["digest"],
    }


def _model_and_version(archive: str) -> tuple[str, str]:
    """Return the model and the version in an archive's name."""
    model, _, version = archive.removesuffix(".tar.gz").rpartition("/")[2].rpartition("-")
    return model, version
