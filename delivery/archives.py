"""Build the archives that a delivery needs, before an endpoint changes.

Also the archives of moves: during an update, old instances load archives from the old prefixes and
new instances from the new prefixes, while the catalog still has the old entries; the entries
of removed models are deleted last. In a rollback, CloudFormation restores the endpoint
first, while the catalog may have new entries. Therefore every archive in the old or new catalog
must exist below every old and new prefix. Otherwise the update guard in the stack refuses the
update.
"""

import hashlib
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from delivery import cdk
from delivery.deploy import StageDeployment
from delivery.errors import (
    NotDelivered,
    Unfinished,
    credentials_expired,
    explain_error,
)
from delivery.promotion import promote_archive
from delivery.steps import say, step, wait_while
from plan.archives import ArchiveBucket
from plan.catalog import Catalog
from plan.deployed import models_stack, models_stack_outputs
from plan.document import EndpointSettings
from platform_facts.rules.bucket_keys import LISTS, source_key
from platform_facts.rules.builds import BuildItem
from platform_facts.rules.catalog import list_text

BuildProperties = dict[str, str]
"""The input of builds: the properties of the custom resource that builds a list."""
COPIES = 8
"""Archives that are copied at the same time; each copy sends `CONCURRENT_PARTS` parts."""
START_FUNCTION, POLL_FUNCTION = "StartFunction", "PollFunction"
"""Names of the outputs of the model stack that have the names of the Lambda functions."""


def promote_archives(deployment: StageDeployment, stage: str, *, session: boto3.Session) -> None:
    """Copy the archives that the deployment needs from the bucket of another stage.

    `session` is in the region of `stage`. Raise `NotDelivered` if that stage has no bucket, if an
    archive in it was not made by a builder, or if the deployment's bucket has an archive with the
    same key and another SHA-256.
    """
    deployment.wait_for_operations()
    source = deployment.bucket_of(stage, session)
    if source is None:
        raise NotDelivered(
            f"there is no stack {models_stack(stage)} in this account: deliver {stage} first, or "
            "deliver without FROM_STAGE, to build the missing archives"
        )
    with step(f"promote the archives of {stage}"):
        if deployment.bucket is None:  # the first delivery of a stage creates it
            deployment.deploy(models_stack(deployment.assembly.stage))
        bucket = deployment.bucket
        assert bucket
        items = deployment.assembly.archives | _missing_for_moves(deployment, bucket)
        keys = sorted(items)

        def promote(key: str) -> str:
            return promote_archive(key, digest=items[key].digest, source=source, target=bucket)

        with ThreadPoolExecutor(COPIES) as threads:
            for key, result in zip(keys, threads.map(promote, keys), strict=True):
                say(f"  {key}: {result}")


def build_missing_archives(deployment: StageDeployment) -> None:
    """Build the missing archives of the commit, and those that a move of an endpoint needs.

    CloudFormation would build the commit's archives too, but waits at most an hour for them. Raise
    `NotDelivered` with the reasons of failed builds, or if an archive cannot be built.
    """
    deployment.wait_for_operations()
    assembly, bucket = deployment.assembly, deployment.bucket
    moved = _missing_for_moves(deployment, bucket) if bucket else {}
    missing = bucket.incomplete(assembly.archives) if bucket else [*assembly.archives]
    if not missing and not moved:
        say("  all archives exist: no build is needed")
        return
    if not deployment.endpoints_only:
        deployment.deploy(models_stack(assembly.stage))
    names = {key.partition("/")[0] for key in missing}
    stacks = sorted(assembly.endpoints[name].stack for name in names)
    sources = {endpoint.stack for endpoint in assembly.endpoints.values()} if moved else stacks
    with step("upload the sources of the archives"):
        result = cdk.publish_assets(assembly.folder, *sorted(sources))
        if not result.succeeded:
            raise NotDelivered("\n  ".join(result.error_lines))
    bucket = deployment.bucket
    assert bucket  # the stack that was deployed above has it
    builds = _builds(deployment, stacks, bucket)
    if moved:
        builds["moves"] = _write_list(bucket, moved.values())
        if any(endpoint.keeps_models for endpoint in assembly.endpoints.values()):
            builds["moves"]["OnFailure"] = "keep"  # the guard refuses what the catalog needs
    count = len(missing) + len(moved)
    with step(f"build {count:,} of {len(assembly.archives) + len(moved):,} archives"):
        for key in moved:
            say(f"  {key}: clients may request it while its endpoint moves")
        outputs = models_stack_outputs(deployment.session.client("cloudformation"), assembly.stage)
        builder = Builder(
            deployment.session.client("lambda"),
            outputs[START_FUNCTION],
            outputs[POLL_FUNCTION],
            assembly.plan.time_budget.build_minutes,
        )
        try:
            builder.build(builds)
        except NotDelivered as error:
            if not moved:
                raise
            raise NotDelivered(
                f"{error}\n  Clients may request these archives while an endpoint moves: "
                f"{', '.join(moved)}. If one cannot be built: deliver the change of "
                "release or instance type first, and the change of models after it"
            ) from None


def _builds(
    deployment: StageDeployment, stacks: Sequence[str], bucket: ArchiveBucket
) -> dict[str, BuildProperties]:
    """Return stack -> input of the builds of its endpoint's archives."""
    session, assembly = deployment.session, deployment.assembly
    builds = assembly.builds(
        {
            "AWS::AccountId": session.client("sts").get_caller_identity()["Account"],
            "AWS::Region": session.region_name,
            assembly.bucket_export: bucket.name,
        }
    )
    return {stack: builds[stack] for stack in stacks}


def _write_list(bucket: ArchiveBucket, items: Iterable[BuildItem]) -> BuildProperties:
    """Write a list of archives into the bucket; return the input of its builds."""
    content = list_text(item.as_json() for item in items).encode()
    digest = hashlib.sha256(content).hexdigest()
    key = f"{LISTS}{digest}.jsonl"
    bucket.write_once(key, content)
    return {"List": f"{bucket.name}/{key}", "Digest": digest, "Bucket": bucket.name}


def _missing_for_moves(deployment: StageDeployment, bucket: ArchiveBucket) -> dict[str, BuildItem]:
    """Return the archives that moves need, and that neither the commit nor the bucket has, by key.

    Raise `NotDelivered` with the reason for each archive that cannot be built.
    """
    items = deployment.assembly.archives

    def read(move: "EndpointMove", key: str, archive: str) -> BuildItem | NotDelivered:
        try:
            return move.item(key, archive, items, bucket)
        except NotDelivered as error:
            return error

    keys = [
        (move, key, archive)
        for move in find_moves(deployment)
        for key, archive in move.missing_archives(items, bucket)
    ]
    with ThreadPoolExecutor(COPIES) as threads:
        results = list(threads.map(lambda arguments: read(*arguments), keys))
    if errors := [str(result) for result in results if isinstance(result, NotDelivered)]:
        raise NotDelivered("\n  ".join(errors))
    return {item.key: item for item in results if isinstance(item, BuildItem)}


@dataclass(frozen=True)
class EndpointMove:
    """The move of an endpoint of `stage` to other prefixes.

    `prefixes` are the old and new prefixes, `archives` are the archives in the old and new catalog.
    """

    stage: str
    short_name: str
    prefixes: frozenset[str]
    archives: frozenset[str]

    def missing_archives(
        self, items: Mapping[str, BuildItem], bucket: ArchiveBucket
    ) -> list[tuple[str, str]]:
        """Return key and archive for each key that neither `items` nor the bucket has."""
        archives = {key: archive for archive in self.archives for key in self._keys(archive)}
        missing = bucket.incomplete(sorted(archives.keys() - items.keys()))
        return [(key, archives[key]) for key in missing]

    def item(
        self, key: str, archive: str, items: Mapping[str, BuildItem], bucket: ArchiveBucket
    ) -> BuildItem:
        """Return the archive of a key: the same archive below another prefix, for another target.

        Raise `NotDelivered` if no prefix has the archive, if its source was deleted, and for a
        published archive: the builder would run the publisher's recipe with the builder's role.
        """
        name = archive.removesuffix(".tar.gz").rpartition("/")[2]
        model, _, version = name.rpartition("-")
        if "/" in archive:  # also below other folders, which a catalog entry can name
            reason = f"version {version} of {model} was published by hand; deliveries do not "
            raise self._error(key, model, f"{reason}build or copy it")
        keys = self._keys(archive)
        targets = {key: key.removesuffix(f"/{archive}").rpartition("/")[2] for key in keys}
        for other_key in keys:
            if other_key in items:
                return _for_target(items[other_key], key, targets[key])
        manifests = ((other_key, bucket.manifest(other_key)) for other_key in keys)
        other_key, manifest = next((pair for pair in manifests if pair[1]), ("", None))
        if manifest is None:
            folders = ", ".join(sorted(self.prefixes))
            raise self._error(key, model, f"the catalog names it, but none of {folders} has it")
        source = source_key(manifest["digest"])
        if bucket.checksum(source) is None:
            raise self._error(key, model, f"its source s3://{bucket.name}/{source} was deleted")
        item = replace(item_of(manifest), target=targets[other_key])
        return _for_target(item, key, targets[key])

    def _keys(self, archive: str) -> list[str]:
        """Return the keys of an archive below all prefixes."""
        return [prefix + archive for prefix in sorted(self.prefixes)]

    def _error(self, key: str, model: str, reason: str) -> NotDelivered:
        delete = Catalog(None, self.stage, self.short_name).delete_command(model)
        return NotDelivered(
            f"{key}: {reason}. {self.stage}-{self.short_name} cannot move without it. Deliver this "
            f"version of {model} before the move; or go back to a delivered version: tritonsm "
            f"rollback {self.stage} {self.short_name} {model}; or, if no client uses {model}: "
            f"{delete}"
        )


def find_moves(deployment: StageDeployment) -> Iterator[EndpointMove]:
    """Yield a move for each endpoint whose prefixes change."""
    stage, dynamodb = deployment.assembly.stage, deployment.session.client("dynamodb")
    for short_name, endpoint in deployment.assembly.plan.endpoints.items():
        live_template = deployment.live_template(endpoint.settings)
        if live_template is None:
            continue
        live = EndpointSettings.of_template(live_template)
        old_prefixes = live.prefixes if live else frozenset()
        new_prefixes = endpoint.settings.prefixes
        if old_prefixes == new_prefixes or not old_prefixes or not new_prefixes:
            continue  # the guard refuses a change between single-model and multi-model hosting
        entries = [
            revision.entry for revision in Catalog(dynamodb, stage, short_name).current().values()
        ]
        archives = {entry["target_model"] for entry in entries if entry.get("target_model")}
        targets = (model.catalog.target_model for model in endpoint.models.values())
        archives.update(filter(None, targets))
        yield EndpointMove(stage, short_name, old_prefixes | new_prefixes, frozenset(archives))


def item_of(manifest: Mapping[str, Any]) -> BuildItem:
    """Return an archive from its manifest, without key and target."""
    source = manifest["source"]
    return BuildItem(
        source=source_key(manifest["digest"]),
        model=source["model"],
        alternative=source["alternative"] or "",
        digest=manifest["digest"],
        target="",
        key="",
        engines=bool(manifest.get("engines")),
    )


def _for_target(item: BuildItem, key: str, target: str) -> BuildItem:
    """Return the archive of a model for another target.

    Only archives for GPUs have engines. An archive for CPUs does not tell whether that for a GPU
    has: it gets a build of its own, as if it had.
    """
    is_for_gpu, was_for_gpu = ("cuda" in name for name in (target, item.target))
    return replace(
        item, key=key, target=target, engines=is_for_gpu and (item.engines or not was_for_gpu)
    )


@dataclass(frozen=True)
class Builder:
    """The Lambda functions `start` and `poll`; `functions` is a client in their region.

    Builds wait at most `wait_minutes` for engines.
    """

    functions: Any
    start: str
    poll: str
    wait_minutes: int

    def build(self, lists: Mapping[str, BuildProperties]) -> None:
        """Build lists of archives in parallel, as CloudFormation would, and print progress.

        Raise `NotDelivered` when builds have failed, `Unfinished` when credentials have expired.
        Both errors name the builds that are still running: the next delivery uses their archives.
        """
        responses: dict[str, dict[str, Any]] = {}
        try:
            events = {name: self._start(name, properties) for name, properties in lists.items()}
            wait_while("builds", lambda: self._poll(events, responses))
        except (NotDelivered, Unfinished) as error:
            ids = [build for last in responses.values() for build in last.get("Builds", ())]
            running = f"\n  still running in CodeBuild: {', '.join(ids)}" if ids else ""
            raise type(error)(f"{error}{running}") from None

    def _start(self, name: str, properties: BuildProperties) -> dict[str, Any]:
        """Return the payload of polls."""
        event = {
            "RequestType": "Create",
            "RequestId": str(uuid.uuid4()),
            "ResourceProperties": {**properties, "WaitMinutes": str(self.wait_minutes)},
        }
        return {**event, **self._invoke(name, self.start, event)}

    def _poll(
        self, events: dict[str, dict[str, Any]], responses: dict[str, dict[str, Any]]
    ) -> str | None:
        """Poll every list and remove completed ones; return the progress of the others."""
        for name, event in list(events.items()):
            try:
                responses[name] = self._invoke(name, self.poll, event)
            except NotDelivered:  # all its builds have ended
                responses.pop(name, None)
                raise
            if responses[name]["IsComplete"]:
                failures = responses[name].get("Failures", ())
                del events[name], responses[name]
                for failure in failures:
                    say(f"! {name}: {failure}")
                count = "all archives" if not failures else "all other archives"
                say(f"  {name}: {count} are built")
        return ", ".join(_progress(name, last) for name, last in responses.items()) or None

    def _invoke(self, name: str, function: str, event: dict[str, Any]) -> dict[str, Any]:
        """Return a function's response. Raise `NotDelivered` and `Unfinished` as `build` does."""
        try:
            response = self.functions.invoke(FunctionName=function, Payload=json.dumps(event))
        except (BotoCoreError, ClientError) as error:
            error_type = Unfinished if credentials_expired(error) else NotDelivered
            raise error_type(explain_error(error)) from None
        payload: dict[str, Any] = json.loads(response["Payload"].read())
        if "FunctionError" in response:
            raise NotDelivered(f"{name}: {payload['errorMessage']}")
        return payload


def _progress(name: str, response: Mapping[str, Any]) -> str:
    """Return the progress in the response of a poll, which has no numbers while AWS throttles."""
    if "Archives" not in response:
        return f"{name}: not started yet"
    builds = ", ".join(response["Builds"]) or "not started yet"
    return f"{name}: {response['Built']:,} of {response['Archives']:,} archives built ({builds})"
