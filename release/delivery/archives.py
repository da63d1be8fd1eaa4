"""Copy or build every archive that a delivery needs, before an endpoint changes."""

import boto3

from release.delivery import cdk
from release.delivery.archive_bucket import ArchiveBucket, stack_name, stack_outputs
from release.delivery.building import POLL_FUNCTION, START_FUNCTION, Builder
from release.delivery.deployment import StageDeployment
from release.delivery.endpoint_moves import Properties, moves
from release.delivery.errors import NotDelivered
from release.delivery.promotion import promote
from release.delivery.steps import say, step


def promote_from(deployment: StageDeployment, stage: str, *, session: boto3.Session) -> None:
    """Copy the archives that this stage needs from another stage's bucket.

    `session` is in the other stage's region. Raise `NotDelivered` if there is no such bucket, if an
    archive there was not made by a builder, or if this stage's bucket has an archive with the same
    key and another SHA-256.
    """
    deployment.wait_for_operations()
    source = deployment.bucket_of(stage, session)
    if source is None:
        raise NotDelivered(
            f"there is no stack {stack_name(stage)} in this account: deliver {stage} first, or "
            "deliver without FROM_STAGE, which builds what is missing"
        )
    with step(f"promote the archives of {stage}"):
        if deployment.bucket is None:  # the first delivery of a stage creates it
            deployment.deploy(stack_name(deployment.assembly.stage))
        own = _own_bucket(deployment)
        builds = _builds(deployment, own)
        needed = builds | _missing_for_moves(deployment, builds, own)
        for key, properties in sorted(needed.items()):
            result = promote(key, digest=properties["Digest"], source=source, to=own)
            say(f"  {key}: {result}")


def build(deployment: StageDeployment) -> None:
    """Build the missing archives of the commit, and those that a move of an endpoint needs.

    CloudFormation would build the commit's archives too, but waits for at most an hour. Raise
    `NotDelivered` with the reason of the first build that fails, or if an archive cannot be built.
    """
    deployment.wait_for_operations()
    assembly, bucket = deployment.assembly, deployment.bucket
    moved = {}
    if bucket:
        moved = _missing_for_moves(deployment, _builds(deployment, bucket), bucket)
    missing = [key for key in assembly.archives if not (bucket and bucket.is_complete(key))]
    if not missing and not moved:
        say("  all archives exist: no build is needed")
        return
    deployment.deploy(stack_name(assembly.stage))
    stacks = {assembly.archives[key].stack for key in missing}
    if moved:
        stacks |= {endpoint.stack for endpoint in assembly.endpoints}
    with step("upload the sources of the archives"):
        published = cdk.publish_assets(assembly.folder, *sorted(stacks))
        if not published.succeeded:
            raise NotDelivered("\n  ".join(published.error_lines))
    outputs = stack_outputs(deployment.session.client("cloudformation"), stage=assembly.stage)
    builds = _builds(deployment, _own_bucket(deployment))
    with step(f"build {len(missing) + len(moved)} of {len(builds) + len(moved)} archives"):
        for key in moved:
            say(f"  {key}: clients may request it while its endpoint moves")
        builder = Builder(
            deployment.session.client("lambda"),
            outputs[START_FUNCTION],
            outputs[POLL_FUNCTION],
            deployment.time_budget.build_minutes,
        )
        try:
            builder.build([*(builds[key] for key in missing), *moved.values()])
        except NotDelivered as error:
            if not moved:
                raise
            raise NotDelivered(
                f"{error}\n  Clients may request these archives while an endpoint moves: "
                f"{', '.join(moved)}. If one cannot be built: deliver the change of release or "
                "instance type first, and the change of models after it"
            ) from None


def _missing_for_moves(
    deployment: StageDeployment, builds: dict[str, Properties], bucket: ArchiveBucket
) -> dict[str, Properties]:
    """Return the builds of archives that moves need and the bucket lacks.

    Raise `NotDelivered` with each archive that cannot be built.
    """
    missing = {
        key: build for move in moves(deployment) for key, build in move.missing(builds, bucket)
    }
    refused = [str(build) for build in missing.values() if isinstance(build, NotDelivered)]
    if refused:
        raise NotDelivered("\n  ".join(dict.fromkeys(refused)))
    return {key: build for key, build in missing.items() if not isinstance(build, NotDelivered)}


def _builds(deployment: StageDeployment, bucket: ArchiveBucket) -> dict[str, Properties]:
    """Return the build properties of the commit's archives, by their keys."""
    session, assembly = deployment.session, deployment.assembly
    return assembly.builds(
        {
            "AWS::AccountId": session.client("sts").get_caller_identity()["Account"],
            "AWS::Region": session.region_name,
            assembly.bucket_import: bucket.name,
        }
    )


def _own_bucket(deployment: StageDeployment) -> ArchiveBucket:
    """Return this stage's bucket, whose stack is deployed."""
    bucket = deployment.bucket
    if bucket is None:
        stack = stack_name(deployment.assembly.stage)
        raise NotDelivered(f"{stack} has no output with the name of the model bucket")
    return bucket
