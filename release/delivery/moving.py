"""Archives that clients may be sent to while an endpoint moves to other archives, or back.

While it is updated, instances that load from its old prefixes and from its new ones answer, and the
catalog names what it did before; entries of models that leave go last. Where CloudFormation rolls
back, the endpoint goes first, and entries may name what is new. So whatever the catalog names
before or after must be below all of the prefixes. The guard in the stack refuses the update
otherwise.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from release import parameters
from release.delivery.archive_bucket import ArchiveBucket, source_key
from release.delivery.building import Properties
from release.delivery.errors import NotDelivered
from release.stage_resources import StackEndpoint

PUBLISHED = "published/"
"""Where publishers write, below each prefix."""
DIGITS = len("-0123456789ab.tar.gz")
"""What follows the model's name in an archive's."""


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

    @property
    def keys(self) -> list[str]:
        """Where every archive must be."""
        return sorted(prefix + it for prefix in self.prefixes for it in self.archives)

    def build(
        self, key: str, *, builds: Mapping[str, Properties], bucket: ArchiveBucket
    ) -> Properties:
        """Return what the build of `key` is given, which is missing in `bucket`.

        `builds` has the commit's own by their keys; another archive is built from the source of its
        sibling below another prefix. Raises `NotDelivered` where there is none, and for what was
        published: a builder would run the publisher's recipe with its own role.
        """
        if f"/{PUBLISHED}" in key:
            raise NotDelivered(self._published(key))
        prefix, _, archive = key.rpartition("/")
        moved = {"Key": key, "Target": prefix.rpartition("/")[2]}
        siblings = self._siblings(archive)
        for sibling in siblings:
            if sibling in builds:
                return {**builds[sibling], **moved}
        manifests = [it for it in map(bucket.manifest, siblings) if it]
        if not manifests:
            raise NotDelivered(self._nowhere(archive))
        manifest = next((it for it in manifests if it.get("source")), None)
        if manifest is None:
            why = "its manifest, of an earlier builder, does not say from what"
            raise NotDelivered(self._without_source(key, why))
        kept = source_key(manifest["digest"])
        source = f"{bucket.name}/{kept}"
        if bucket.checksum(kept) is None:
            raise NotDelivered(self._without_source(key, f"its source s3://{source} is gone"))
        return {**_properties(manifest), **moved, "Bucket": bucket.name, "Source": source}

    def digests(self, own: Mapping[str, str], bucket: ArchiveBucket) -> dict[str, str]:
        """Return the digests of delivered archives that are missing in `bucket`, by their keys.

        `own` are the commit's; others are those of the siblings' manifests in this bucket.
        """
        missing = {}
        for key in self.keys:
            if f"/{PUBLISHED}" in key or bucket.is_complete(key):
                continue
            for sibling in self._siblings(key.rpartition("/")[2]):
                manifest = {"digest": own[sibling]} if sibling in own else bucket.manifest(sibling)
                if manifest:
                    missing[key] = manifest["digest"]
        return missing

    def _siblings(self, archive: str) -> list[str]:
        return [prefix + archive for prefix in sorted(self.prefixes)]

    def _published(self, key: str) -> str:
        archive = key.rpartition("/")[2]
        model, version = archive[:-DIGITS], archive[-DIGITS:].removesuffix(".tar.gz")[1:]
        endpoint = self.endpoint.short_name
        return (
            f"{key}: version {version} of {model} was published by hand, and deliveries neither "
            f"build nor copy it, so that {self.endpoint.name} cannot move. Merge it into models/ "
            "and deliver it before the move; or go back to a delivered version: tritonsm rollback "
            f"{self.stage} {endpoint} {model}; or, if nobody asks for it, aws ssm delete-parameter "
            f"--name {parameters.entry(self.stage, endpoint, model)}"
        )

    def _nowhere(self, archive: str) -> str:
        model = archive[:-DIGITS]
        return (
            f"{archive}: the catalog of {self.endpoint.name} names it, and it is nowhere below "
            f"{', '.join(sorted(self.prefixes))}. Roll the model back, or publish it again, and "
            f"deliver then: tritonsm rollback {self.stage} {self.endpoint.short_name} {model}"
        )

    def _without_source(self, key: str, why: str) -> str:
        archive = key.rpartition("/")[2]
        entry = parameters.entry(self.stage, self.endpoint.short_name, archive[:-DIGITS])
        return (
            f"{key}: clients are sent to it, and it cannot be built there: {why}. Deliver the "
            "change of release or instance type alone, with this version of the model in models/; "
            f"or, if nobody asks for it, aws ssm delete-parameter --name {entry}"
        )


def advice(moved: Mapping[str, object]) -> str:
    """Return what to do about a build that only a move needs."""
    if not moved:
        return ""
    return (
        "\n  Wanted because clients may be sent there while an endpoint moves: "
        f"{', '.join(moved)}. Where one cannot be built: deliver the change of release or instance "
        "type and that of models one after the other"
    )


def _properties(manifest: Mapping[str, Any]) -> Properties:
    source = manifest["source"]
    return {
        "Model": source["model"],
        "Alternative": source["alternative"] or "",
        "Digest": manifest["digest"],
    }
