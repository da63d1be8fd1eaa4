"""Archives that clients may be sent to while an endpoint moves to other archives, or back.

While it is updated, instances that load from its old prefixes and from its new ones answer, and the
catalog names what it did before; entries of models that leave go last. Where CloudFormation rolls
back, the endpoint goes first, and entries may name what is new. So whatever the catalog names
before or after must be below all of the prefixes. The guard in the stack refuses the update
otherwise.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from release import parameters
from release.delivery.archive_bucket import ArchiveBucket, source_key
from release.delivery.catalog_differences import current_entries
from release.delivery.deployment import StageDeployment
from release.delivery.errors import NotDelivered
from release.stage_resources import StackEndpoint, named_archives, prefixes

Properties = dict[str, str]
"""What one build is given: the properties of its resource in the template."""

PUBLISHED = "published/"
"""Where publishers write, below each prefix."""


@dataclass(frozen=True)
class Move:
    """An endpoint of `stage` on its way.

    `prefixes` are those that it loads from before and after, `archives` those that the catalog
    names before and after.
    """

    stage: str
    endpoint: StackEndpoint
    prefixes: frozenset[str]
    archives: frozenset[str]

    def missing(
        self, builds: Mapping[str, Properties], bucket: ArchiveBucket
    ) -> Iterator[tuple[str, Properties | NotDelivered]]:
        """Yield the keys that are missing, and how each is built, or why it cannot be.

        `builds` has the commit's own by their keys, which are not among the missing ones.
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
        """Return the build of a key: that of its sibling below another prefix, for its target.

        Raises `NotDelivered` where there is none, and for what was published: a builder would run
        the publisher's recipe with its own role.
        """
        model, version = _named(archive)
        if archive.startswith(PUBLISHED):
            reason = f"version {version} of {model} was published by hand, and deliveries neither "
            raise self._refusal(key, model, f"{reason}build nor copy it")
        target = {"Key": key, "Target": key.removesuffix(f"/{archive}").rpartition("/")[2]}
        siblings = [prefix + archive for prefix in sorted(self.prefixes)]
        for sibling in siblings:
            if sibling in builds:
                return {**builds[sibling], **target}
        manifest = next(filter(None, map(bucket.manifest, siblings)), None)
        if manifest is None:
            places = ", ".join(sorted(self.prefixes))
            raise self._refusal(key, model, f"the catalog names it, and it is in none of {places}")
        source = source_key(manifest["digest"])
        if bucket.checksum(source) is None:
            raise self._refusal(key, model, f"its source s3://{bucket.name}/{source} is gone")
        place = {"Bucket": bucket.name, "Source": f"{bucket.name}/{source}"}
        return {**build_properties(manifest), **target, **place}

    def _refusal(self, key: str, model: str, reason: str) -> NotDelivered:
        place = f"{self.stage} {self.endpoint.short_name} {model}"
        entry = parameters.entry(self.stage, self.endpoint.short_name, model)
        return NotDelivered(
            f"{key}: {reason}, so that {self.endpoint.name} cannot move. Deliver this version of "
            f"{model} before the move; or go back to a delivered one: tritonsm rollback {place}; "
            f"or, if nobody uses it: aws ssm delete-parameter --name {entry}"
        )


def moves(deployment: StageDeployment) -> Iterator[Move]:
    """Yield the endpoints that will load from other prefixes than they do."""
    stage, ssm = deployment.assembly.stage, deployment.session.client("ssm")
    for endpoint in deployment.assembly.endpoints:
        live, new = deployment.live(endpoint), deployment.new(endpoint)
        if live is None or prefixes(live) == prefixes(new):
            continue
        if not prefixes(live) or not prefixes(new):
            continue  # it would be hosted in another way, which the guard refuses
        entries = current_entries(ssm, stage, endpoint.short_name).values()
        named = {entry["target_model"] for entry in entries if entry.get("target_model")}
        yield Move(stage, endpoint, prefixes(live) | prefixes(new), named_archives(new) | named)


def build_properties(manifest: Mapping[str, Any]) -> Properties:
    """Return how the archive of a manifest is built, but for its place."""
    source = manifest["source"]
    return {
        "Model": source["model"],
        "Alternative": source["alternative"] or "",
        "Digest": manifest["digest"],
    }


def _named(archive: str) -> tuple[str, str]:
    """Return the model and the version of an archive's name."""
    model, _, version = archive.removesuffix(".tar.gz").rpartition("/")[2].rpartition("-")
    return model, version
