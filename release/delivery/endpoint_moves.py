"""Moves of endpoints to other S3 prefixes, and the archives that must exist during a move.

During an update, old instances load from the old prefixes and new instances from the new ones,
while the catalog still has its old entries; CloudFormation deletes entries of removed models last.
In a rollback, the endpoint is restored first, while the catalog may have new entries. Therefore
every archive in the old or new catalog must exist below every old and new prefix. Otherwise the
guard in the stack refuses the update.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from release import parameters
from release.delivery.archive_bucket import ArchiveBucket, source_key
from release.delivery.catalog_differences import current_entries
from release.delivery.deployment import StageDeployment
from release.delivery.errors import NotDelivered
from release.stack_catalog import named_archives, prefixes
from release.stack_endpoints import StackEndpoint

Properties = dict[str, str]
"""The input of a build: the properties of its custom resource."""

PUBLISHED = "published/"
"""The folder of published archives below each prefix."""


@dataclass(frozen=True)
class Move:
    """The move of an endpoint of `stage` to other prefixes.

    `prefixes` are the old and the new ones, `archives` are those of the old and the new catalog.
    """

    stage: str
    endpoint: StackEndpoint
    prefixes: frozenset[str]
    archives: frozenset[str]

    def missing(
        self, builds: Mapping[str, Properties], bucket: ArchiveBucket
    ) -> Iterator[tuple[str, Properties | NotDelivered]]:
        """Yield each missing key with its build, or with the error if it cannot be built.

        `builds` has the builds of the commit by key; those keys are not missing.
        """
        for archive in sorted(self.archives):
            for key in (prefix + archive for prefix in sorted(self.prefixes)):
                if key in builds or bucket.is_complete(key):
                    continue
                try:
                    yield key, self._build(key, archive, builds, bucket)
                except NotDelivered as error:
                    yield key, error

    def _build(
        self, key: str, archive: str, builds: Mapping[str, Properties], bucket: ArchiveBucket
    ) -> Properties:
        """Return the build of a key: that of the same archive below another prefix, retargeted.

        Raise `NotDelivered` if there is none, and for a published archive: the builder would run
        the publisher's recipe with its own role.
        """
        model, version = _model_and_version(archive)
        if archive.startswith(PUBLISHED):
            reason = f"version {version} of {model} was published by hand; deliveries do not "
            raise self._refusal(key, model, f"{reason}build or copy it")
        target = {"Key": key, "Target": key.removesuffix(f"/{archive}").rpartition("/")[2]}
        siblings = [prefix + archive for prefix in sorted(self.prefixes)]
        for sibling in siblings:
            if sibling in builds:
                return {**builds[sibling], **target}
        manifest = next(filter(None, map(bucket.manifest, siblings)), None)
        if manifest is None:
            places = ", ".join(sorted(self.prefixes))
            raise self._refusal(key, model, f"the catalog names it, but none of {places} has it")
        source = source_key(manifest["digest"])
        if bucket.checksum(source) is None:
            raise self._refusal(key, model, f"its source s3://{bucket.name}/{source} was deleted")
        place = {"Bucket": bucket.name, "Source": f"{bucket.name}/{source}"}
        return {**build_properties(manifest), **target, **place}

    def _refusal(self, key: str, model: str, reason: str) -> NotDelivered:
        place = f"{self.stage} {self.endpoint.short_name} {model}"
        entry = parameters.entry(self.stage, self.endpoint.short_name, model)
        return NotDelivered(
            f"{key}: {reason}. {self.endpoint.name} cannot move without it. Deliver this version "
            f"of {model} before the move; or go back to a delivered version: tritonsm rollback "
            f"{place}; or, if no client uses {model}: aws ssm delete-parameter --name {entry}"
        )


def moves(deployment: StageDeployment) -> Iterator[Move]:
    """Yield a move for each endpoint whose prefixes change."""
    stage, ssm = deployment.assembly.stage, deployment.session.client("ssm")
    for endpoint in deployment.assembly.endpoints:
        live, new = deployment.live_template(endpoint), deployment.new_template(endpoint)
        if live is None or prefixes(live) == prefixes(new):
            continue
        if not prefixes(live) or not prefixes(new):
            continue  # the guard refuses to change between single and multi-model hosting
        entries = current_entries(ssm, stage, endpoint.short_name).values()
        named = {entry["target_model"] for entry in entries if entry.get("target_model")}
        yield Move(stage, endpoint, prefixes(live) | prefixes(new), named_archives(new) | named)


def build_properties(manifest: Mapping[str, Any]) -> Properties:
    """Return the build properties of a manifest's archive, without bucket, key and target."""
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
