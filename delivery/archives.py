"""Build the archives that a delivery needs, before an endpoint changes.

Also the archives of moves: during an update, old instances load archives from the old prefixes and
new instances from the new prefixes, while the catalog still has the old entries; the entries
of removed models are deleted last. In a rollback, CloudFormation restores the endpoint
first, while the catalog may have new entries. Therefore every archive in the old or new catalog
must exist below every old and new prefix. Otherwise the update guard in the stack refuses the
update.
"""

import json
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from delivery import cdk
from delivery.bucket import ArchiveBucket, source_key, stack_name, stack_outputs
from delivery.deploy import StageDeployment
from delivery.errors import (
    NotDelivered,
    Unfinished,
    credentials_expired,
    explain_error,
)
from delivery.promotion import promote_archive
from delivery.steps import say, step, wait_while
from plan.catalog import Catalog
from plan.document import EndpointSettings

BuildProperties = dict[str, str]
"""The input of a build: the properties of the archive's custom resource."""
PUBLISHED = "published/"
"""The folder of published archives below each prefix."""
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
            f"there is no stack {stack_name(stage)} in this account: deliver {stage} first, or "
            "deliver without FROM_STAGE, to build the missing archives"
        )
    with step(f"promote the archives of {stage}"):
        if deployment.bucket is None:  # the first delivery of a stage creates it
            deployment.deploy(stack_name(deployment.assembly.stage))
        bucket = deployment.bucket
        assert bucket
        builds = _commit_builds(deployment, bucket)
        builds |= _missing_builds_for_moves(deployment, builds, bucket)
        for key, properties in sorted(builds.items()):
            result = promote_archive(key, digest=properties["Digest"], source=source, target=bucket)
            say(f"  {key}: {result}")


def build_missing_archives(deployment: StageDeployment) -> None:
    """Build the missing archives of the commit, and those that a move of an endpoint needs.

    CloudFormation would build the commit's archives too, but waits at most an hour for them. Raise
    `NotDelivered` with the reason of the first failed build, or if an archive cannot be built.
    """
    deployment.wait_for_operations()
    assembly, bucket = deployment.assembly, deployment.bucket
    move_builds = {}
    if bucket:
        commit_builds = _commit_builds(deployment, bucket)
        move_builds = _missing_builds_for_moves(deployment, commit_builds, bucket)
    missing_keys = [key for key in assembly.archives if not (bucket and bucket.is_complete(key))]
    if not missing_keys and not move_builds:
        say("  all archives exist: no build is needed")
        return
    if not deployment.endpoints_only:
        deployment.deploy(stack_name(assembly.stage))
    stacks = {assembly.archives[key].stack for key in missing_keys}
    if move_builds:
        stacks |= {endpoint.stack for endpoint in assembly.endpoints.values()}
    with step("upload the sources of the archives"):
        result = cdk.publish_assets(assembly.folder, *sorted(stacks))
        if not result.succeeded:
            raise NotDelivered("\n  ".join(result.error_lines))
    bucket = deployment.bucket
    assert bucket  # the stack that was deployed above has it
    commit_builds = _commit_builds(deployment, bucket)
    builds = [*(commit_builds[key] for key in missing_keys), *move_builds.values()]
    with step(f"build {len(builds)} of {len(commit_builds) + len(move_builds)} archives"):
        for key in move_builds:
            say(f"  {key}: clients may request it while its endpoint moves")
        outputs = stack_outputs(deployment.session.client("cloudformation"), assembly.stage)
        builder = Builder(
            deployment.session.client("lambda"),
            outputs[START_FUNCTION],
            outputs[POLL_FUNCTION],
            assembly.plan.time_budget.build_minutes,
        )
        try:
            builder.build(builds)
        except NotDelivered as error:
            if not move_builds:
                raise
            raise NotDelivered(
                f"{error}\n  Clients may request these archives while an endpoint moves: "
                f"{', '.join(move_builds)}. If one cannot be built: deliver the change of "
                "release or instance type first, and the change of models after it"
            ) from None


def _commit_builds(
    deployment: StageDeployment, bucket: ArchiveBucket
) -> dict[str, BuildProperties]:
    """Return key -> build for every archive of the commit."""
    session, assembly = deployment.session, deployment.assembly
    return assembly.builds(
        {
            "AWS::AccountId": session.client("sts").get_caller_identity()["Account"],
            "AWS::Region": session.region_name,
            assembly.bucket_export: bucket.name,
        }
    )


def _missing_builds_for_moves(
    deployment: StageDeployment, builds: dict[str, BuildProperties], bucket: ArchiveBucket
) -> dict[str, BuildProperties]:
    """Return key -> build for the archives that moves need and the bucket lacks.

    `builds` has the builds of the commit by key. Raise `NotDelivered` with the reason for each
    archive that cannot be built.
    """
    missing_builds, errors = {}, []
    for move in find_moves(deployment):
        for key, archive in move.missing_archives(builds, bucket):
            try:
                missing_builds[key] = move.build_of(key, archive, builds, bucket)
            except NotDelivered as error:
                errors.append(str(error))
    if errors:
        raise NotDelivered("\n  ".join(errors))
    return missing_builds


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
        name = archive.removesuffix(".tar.gz").rpartition("/")[2]
        model, _, version = name.rpartition("-")
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
        if live is None:
            say(f"  {endpoint.settings.stack} was deployed by an older version: no move is known")
            continue
        old_prefixes, new_prefixes = prefixes(live), prefixes(endpoint.settings)
        if old_prefixes == new_prefixes or not old_prefixes or not new_prefixes:
            continue  # the guard refuses a change between single-model and multi-model hosting
        entries = [
            revision.entry for revision in Catalog(dynamodb, stage, short_name).current().values()
        ]
        archives = {entry["target_model"] for entry in entries if entry.get("target_model")}
        targets = (model.catalog.target_model for model in endpoint.models.values())
        archives.update(filter(None, targets))
        yield EndpointMove(stage, short_name, old_prefixes | new_prefixes, frozenset(archives))


def prefixes(endpoint: EndpointSettings) -> frozenset[str]:
    """Return the S3 prefixes, with a slash at the end, that a multi-model endpoint loads from."""
    if endpoint.hosting != "multi-model":
        return frozenset()
    variants = endpoint.variants.values()
    return frozenset(pool.prefix for variant in variants for pool in variant.pools)


def build_properties(manifest: Mapping[str, Any]) -> BuildProperties:
    """Return the build properties in a manifest, which has no bucket, key and target."""
    source = manifest["source"]
    return {
        "Model": source["model"],
        "Alternative": source["alternative"] or "",
        "Digest": manifest["digest"],
    }


@dataclass(frozen=True)
class _Build:
    """A running or queued build.

    `event` is the payload of each poll, `start` is in `time.monotonic` seconds.
    """

    event: dict[str, Any]
    start: float

    @property
    def key(self) -> str:
        return str(self.event["ResourceProperties"]["Key"])

    @property
    def name(self) -> str:
        return f"{self.key} ({self.event.get('BuildId', 'not started yet')})"


@dataclass(frozen=True)
class Builder:
    """The Lambda functions `start` and `poll`; `functions` is a client in their region.

    The CodeBuild build of an archive waits at most `wait_minutes` for its engines.
    """

    functions: Any
    start: str
    poll: str
    wait_minutes: int

    def build(self, archives: Sequence[BuildProperties]) -> None:
        """Build `archives` in parallel, as CloudFormation would, and print progress.

        Raise `NotDelivered` when a build fails, `Unfinished` when credentials have expired. Both
        errors list the builds that are still running: the next delivery uses their archives.
        """
        running: dict[str, _Build] = {}
        try:
            for archive in archives:
                build = self._start(archive)
                running[build.key] = build
            wait_while("builds", lambda: self._poll(running))
        except (NotDelivered, Unfinished) as error:
            running_builds = [build.name for build in running.values() if "BuildId" in build.event]
            message = str(error)
            if running_builds:
                message += f"\n  still running in CodeBuild: {', '.join(running_builds)}"
            raise type(error)(message) from None

    def _start(self, properties: BuildProperties) -> _Build:
        event = {
            "RequestType": "Create",
            "RequestId": str(uuid.uuid4()),
            "ResourceProperties": {**properties, "WaitMinutes": str(self.wait_minutes)},
        }
        return _Build({**event, **self._invoke(self.start, event)}, time.monotonic())

    def _poll(self, running: dict[str, _Build]) -> str | None:
        """Poll every build and remove completed ones; return the names of the remaining builds."""
        for key, build in list(running.items()):
            try:
                response = self._invoke(self.poll, build.event)
            except NotDelivered:
                del running[key]
                raise
            running[key] = replace(build, event={**build.event, **response})
            if response["IsComplete"]:
                del running[key]
                say(f"  built {key} ({(time.monotonic() - build.start) / 60:.0f} min)")
        return ", ".join(build.name for build in running.values()) or None

    def _invoke(self, function: str, event: dict[str, Any]) -> dict[str, Any]:
        """Return a function's response. Raise `NotDelivered` and `Unfinished` as `build` does."""
        try:
            response = self.functions.invoke(FunctionName=function, Payload=json.dumps(event))
        except (BotoCoreError, ClientError) as error:
            error_type = Unfinished if credentials_expired(error) else NotDelivered
            raise error_type(explain_error(error)) from None
        payload: dict[str, Any] = json.loads(response["Payload"].read())
        if "FunctionError" in response:
            key = event["ResourceProperties"]["Key"]
            raise NotDelivered(f"{key}: {payload['errorMessage']}")
        return payload
