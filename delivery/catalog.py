"""The catalog of a stage: its differences from deployed lists, and repairs of deleted entries."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

import boto3

from delivery.deploy import StageDeployment
from delivery.errors import ChangedByHand
from delivery.state import incomplete_stacks
from delivery.steps import say
from delivery.store import redelivery
from plan.archives import ArchiveBucket
from plan.catalog import Catalog, ChangedMeanwhile, Entry, Revision
from plan.document import EndpointSettings, Plan
from release.templates import Template, resolve, resources

CATALOG = "Custom::TritonCatalog"
Entries = dict[str, Entry]
"""Model -> entry of an endpoint."""


@dataclass(frozen=True)
class CatalogDifference:
    """A model whose catalog entry differs from the deployed one.

    `catalog` is that of its endpoint. `deployed` is None if no list has the model, `revision` is
    None if the catalog has no entry, and has an empty entry if clients cannot read it. `command`
    removes the difference.
    """

    catalog: Catalog
    name: str
    deployed: Entry | None
    revision: Revision | None
    command: str

    @property
    def model(self) -> str:
        """The model as `endpoint/model`."""
        return f"{self.catalog.endpoint}/{self.name}"

    @property
    def is_unusable(self) -> bool:
        """Whether the catalog's entry is missing, unreadable or without effect.

        A single-model endpoint serves the same archive regardless of the entry.
        """
        is_ignored = self.deployed is not None and self.deployed["target_model"] is None
        return is_ignored or not (self.revision and self.revision.entry)

    @property
    def is_kept(self) -> bool:
        """Whether deploys have kept an earlier entry, because the model could not be built."""
        revision = self.revision
        return (
            revision is not None
            and revision.number > 0
            and bool(revision.entry)
            and revision.cause == "deployed"
        )

    @property
    def is_published_copy(self) -> bool:
        """Whether the catalog's entry names another archive of the same version.

        `tritonsm publish` writes such an entry. A delivery replaces it when the builder's archive
        exists.
        """
        return bool(
            self.deployed
            and self.revision
            and self.deployed["version"] == self.revision.entry.get("version")
        )

    @property
    def is_restored(self) -> bool:
        """Whether a delivery replaces the catalog's entry with the deployed one."""
        return self.deployed is not None and (
            self.is_unusable or self.is_published_copy or self.is_kept
        )

    @property
    def has_other_version(self) -> bool:
        """Whether clients use a version that `tritonsm rollback` or `publish` made current."""
        return self.deployed is not None and not self.is_unusable and not self.is_published_copy

    @property
    def text(self) -> str:
        """The difference as a sentence, with the time and caller of the last change."""
        if self.revision is None:
            return f"{self.model}: the catalog has no entry"
        changed = "changed without tritonsm"
        if self.revision.time:
            time = datetime.fromisoformat(self.revision.time).astimezone(UTC)
            changed = f"since {time:%F %T %Z}, by {self.revision.caller}"
        if not self.revision.entry:
            return f"{self.model}: the catalog's entry is broken, {changed}"
        version = f"{self.model}: the catalog has version {self.revision.version}"
        if self.deployed is None:
            return f"{version}, {changed}, and the commit does not have this model"
        if self.is_published_copy:
            archive = self.revision.entry["target_model"]
            return f"{version} in another archive, {archive}, {changed}"
        return f"{version} instead of {self.deployed['version']}, {changed}"


def restore_catalog_before_deploy(deployment: StageDeployment) -> None:
    """Restore deleted entries to those of the deployed lists.

    A deploy writes the entries that differ between the deployed list and the commit's: it does not
    restore an entry that was changed by hand and is the same in both. Raise `ChangedByHand` for
    such an entry. Skip stacks in a failed state: it is unknown which entries a deploy has written.
    """
    endpoints, session = deployment.assembly.endpoints, deployment.session
    stacks = [endpoint.stack for endpoint in endpoints.values()]
    failed_stacks = incomplete_stacks(session.client("cloudformation"), stacks)
    live_entries, with_kept_models = dict[str, Entries](), set[str]()
    for name, endpoint in endpoints.items():
        if endpoint.stack in failed_stacks or not (template := deployment.live_template(endpoint)):
            continue
        live_entries[name] = deployed_entries(session, template)
        live = EndpointSettings.of_template(template)
        if live and live.keeps_models:
            with_kept_models.add(name)
    commit_entries = new_entries(deployment.assembly.plan)
    unexpected = [
        difference
        for difference in catalog_differences(session, deployment.assembly.stage, live_entries)
        if not difference.is_published_copy
        and not (
            difference.catalog.endpoint in with_kept_models
            and (difference.is_kept or difference.revision is None)
        )
    ]
    unchanged_by_deploy = []
    for difference in _restore(session, unexpected):
        new_entry = commit_entries[difference.catalog.endpoint].get(difference.name)
        if difference.deployed == new_entry:
            unchanged_by_deploy.append(difference)
        elif difference.deployed:
            say(f"! {difference.text}: this delivery changes it to the commit's version")
    _refuse(
        unchanged_by_deploy, "nothing was deployed, and a deploy would not change these entries"
    )


def restore_catalog_after_deploy(
    deployment: StageDeployment, unbuilt: Mapping[str, set[str]]
) -> None:
    """Restore entries; raise `ChangedByHand` with entries that were changed by hand."""
    remaining = restore_entries(deployment.session, deployment.assembly.plan, unbuilt)
    _refuse(remaining, "everything is deployed except these catalog entries")


def restore_entries(
    session: boto3.Session, plan: Plan, unbuilt: Mapping[str, set[str]]
) -> list[CatalogDifference]:
    """Restore entries of the catalog after a deploy of a plan; return the remaining differences.

    CloudFormation does not restore deleted entries, because it compares templates (user guide,
    "Detect unmanaged configuration changes to stacks and resources with drift detection"). The
    plan's archives exist, except those of `unbuilt` (`unbuilt_models`). Therefore an entry that
    names a published copy is restored too, and one that an earlier deploy has kept.
    """
    differences = [
        difference
        for difference in catalog_differences(session, plan.stage, new_entries(plan))
        if difference.name not in unbuilt.get(difference.catalog.endpoint, ())
    ]
    return _restore(session, differences)


def deployed_entries(session: boto3.Session, template: Template) -> Entries:
    """Return the entries in the list that a template's stack has written.

    The list is an asset of the stack.
    """
    entries: Entries = {}
    for _, catalog in resources(template, CATALOG):
        account = session.client("sts").get_caller_identity()["Account"]
        values = {"AWS::AccountId": account, "AWS::Region": session.region_name}
        bucket, _, key = resolve(catalog["List"], values).partition("/")
        body = session.client("s3").get_object(Bucket=bucket, Key=key)["Body"]
        entries |= {entry["model"]: entry for entry in map(json.loads, body.iter_lines())}
    return entries


def new_entries(plan: Plan) -> dict[str, Entries]:
    """Return short name of the endpoint -> entries of a plan."""
    return {
        name: {model: planned.catalog.fields() for model, planned in endpoint.models.items()}
        for name, endpoint in plan.endpoints.items()
    }


def unbuilt_models(plan: Plan, bucket: ArchiveBucket | None) -> dict[str, set[str]]:
    """Return short name of the endpoint -> models without all archives, which it keeps."""
    unbuilt = dict[str, set[str]]()
    for name, endpoint in plan.endpoints.items():
        if endpoint.settings.keeps_models and bucket:
            missing = set(bucket.incomplete(item.key for item in endpoint.build_items()))
            unbuilt[name] = {
                model
                for model, planned in endpoint.models.items()
                if not missing.isdisjoint(planned.archives)
            }
    return unbuilt


def describe_unbuilt(
    session: boto3.Session, plan: Plan, unbuilt: Mapping[str, set[str]]
) -> list[str]:
    """Return a sentence for each of `unbuilt_models`, with the version that clients use."""
    sentences = []
    for endpoint, models in unbuilt.items():
        current = Catalog(session.client("dynamodb"), plan.stage, endpoint).revisions(models)
        for model in sorted(models):
            name = f"{endpoint}/{model}"
            version = plan.endpoints[endpoint].models[model].version
            revision = current.get(model)
            kept = f"clients keep {revision.version}" if revision else "no client can call it"
            sentences.append(f"{name}: version {version} could not be built: {kept}")
    return sentences


def _restore(
    session: boto3.Session, differences: list[CatalogDifference]
) -> list[CatalogDifference]:
    """Restore the entries with `is_restored`; return the differences of the others.

    Raise `ChangedByHand` if another caller changes one, too.
    """
    restored = [difference for difference in differences if difference.is_restored]
    caller = str(session.client("sts").get_caller_identity()["Arn"]) if restored else ""
    for difference in restored:
        entry, replaced = difference.deployed, difference.revision
        assert entry
        try:
            difference.catalog.write(entry, "deployed", caller=caller, replaces=replaced)
        except ChangedMeanwhile as error:
            raise ChangedByHand(str(error)) from None
        say(f"! {difference.text}: restored to the deployed version")
    return [difference for difference in differences if not difference.is_restored]


def _refuse(differences: list[CatalogDifference], summary: str) -> None:
    """Print models that the commit does not have; raise `ChangedByHand` for other differences."""
    lines = []
    for difference in differences:
        if difference.deployed is None:
            say(f"! {difference.text}: {difference.command}")
        else:
            lines += [difference.text, f"  {difference.command}"]
    if lines:
        advice = "To keep the catalog's version instead, deliver a commit with that version"
        raise ChangedByHand("\n  ".join([summary, *lines, advice]))


def catalog_differences(
    session: boto3.Session, stage: str, endpoints: Mapping[str, Entries]
) -> list[CatalogDifference]:
    """Return the differences between the catalog and the entries of endpoints, by short name."""
    dynamodb = session.client("dynamodb")
    return [
        difference
        for endpoint, entries in endpoints.items()
        for difference in _endpoint_differences(Catalog(dynamodb, stage, endpoint), entries)
    ]


def _endpoint_differences(catalog: Catalog, entries: Entries) -> Iterator[CatalogDifference]:
    revisions = catalog.current(entries)
    for name in sorted({*entries, *revisions}):
        entry, revision = entries.get(name), revisions.get(name)
        if entry is None or revision is None or not _have_same_archive(entry, revision.entry):
            command = _command(catalog, name, entry, revision)
            yield CatalogDifference(catalog, name, entry, revision, command)


def _command(catalog: Catalog, model: str, entry: Entry | None, revision: Revision | None) -> str:
    """Return the command that removes a difference."""
    if entry is None:
        return catalog.delete_command(model)
    if not (revision and revision.entry) or entry["version"] == revision.version:
        return redelivery(catalog.stage)
    earlier = (revision.entry for revision in catalog.history(model))
    if any(_have_same_archive(entry, other) for other in earlier):
        version = entry["version"]
        return f"tritonsm rollback {catalog.stage} {catalog.endpoint} {model} --to {version}"
    return f"tritonsm publish {catalog.stage} {catalog.endpoint} models/{model}"


def _have_same_archive(first: Entry, second: Entry) -> bool:
    """Return whether clients use the same archive with both entries.

    A published copy is not the same archive.
    """
    fields = ("version", "endpoint", "target_model", "inference_component", "signature")
    return all(first.get(name) == second.get(name) for name in fields)
