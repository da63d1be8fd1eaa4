"""Copy or build every archive that a delivery needs, before an endpoint changes."""

import boto3

from delivery import cdk
from delivery.archive_bucket import ArchiveBucket, stack_name, stack_outputs
from delivery.building import POLL_FUNCTION, START_FUNCTION, Builder
from delivery.deployment import StageDeployment
from delivery.endpoint_moves import BuildProperties, find_moves
from delivery.errors import NotDelivered
from delivery.promotion import promote_archive
from delivery.steps import say, step


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
        stacks |= {endpoint.stack for endpoint in assembly.endpoints}
    with step("upload the sources of the archives"):
        result = cdk.publish_assets(assembly.folder, *sorted(stacks))
        if not result.succeeded:
            raise NotDelivered("\n  ".join(result.error_lines))
    outputs = stack_outputs(deployment.session.client("cloudformation"), assembly.stage)
    bucket = deployment.bucket
    assert bucket  # the stack that was deployed above has it
    commit_builds = _commit_builds(deployment, bucket)
    builds = [*(commit_builds[key] for key in missing_keys), *move_builds.values()]
    with step(f"build {len(builds)} of {len(commit_builds) + len(move_builds)} archives"):
        for key in move_builds:
            say(f"  {key}: clients may request it while its endpoint moves")
        builder = Builder(
            deployment.session.client("lambda"),
            outputs[START_FUNCTION],
            outputs[POLL_FUNCTION],
            deployment.time_budget.build_minutes,
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
