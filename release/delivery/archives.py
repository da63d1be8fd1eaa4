"""Copy or build every archive that a delivery needs, before an endpoint changes."""

import boto3

from release.delivery import cdk
from release.delivery.archive_bucket import ArchiveBucket, stack_name, stack_outputs
from release.delivery.building import POLL_FUNCTION, START_FUNCTION, Builder
from release.delivery.deployment import StageDeployment
from release.delivery.errors import NotDelivered
from release.delivery.moving import Properties, moves
from release.delivery.promotion import promote
from release.delivery.steps import say, step


def promote_from(deployment: StageDeployment, stage: str, *, session: boto3.Session) -> None:
    """Copy the archives that this stage needs from another stage's bucket.

    `session` is in the other stage's region. Raise `NotDelivered` if there is no such bucket, if an
    archive there is not one that a builder made, or if this stage's bucket holds other bytes.
    """
    deployment.wait_until_at_rest()
    other = deployment.bucket_of(stage, session)
    if other is None:
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
            result = promote(key, digest=properties["Digest"], source=other, to=own)
            say(f"  {key}: {result}")


def build(deployment: StageDeployment) -> None:
    """Build the missing archives of the commit, and those that a `Move` needs.

    CloudFormation would build the commit's archives too, but waits for at most an hour. Raise
    `NotDelivered` with the reason of the first build that fails, or if an archive cannot be built.
    """
    deployment.wait_until_at_rest()
    assembly, bucket = deployment.assembly, deployment.bucket
    moved = {}
    if bucket:
        moved = _missing_for_moves(deployment, _builds(deployment, bucket), bucket)
    missing = [key for key in assembly.archives if not (bucket and bucket.is_complete(key))]
    if not missing and not moved:
        say("  every archive is there: nothing is built")
        return
    deployment.deploy(stack_name(assembly.stage))
    stacks = {assembly.archives[key].stack for key in missing}
    if moved:
        stacks |= {endpoint.stack for endpoint in assembly.endpoints}
    with step("publish what the archives are built from"):
        published = cdk.publish_assets(assembly.folder, *sorted(stacks))
        if not published.succeeded:
            raise NotDelivered("\n  ".join(published.error_lines))
    outputs = stack_outputs(deployment.session.client("cloudformation"), stage=assembly.stage)
    builds = _builds(deployment, _own_bucket(deployment))
    with step(f"build {len(missing) + len(moved)} of {len(builds) + len(moved)} archives"):
        for key in moved:
            say(f"  {key}: clients may be sent to it while its endpoint moves")
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
                f"{error}\n  Needed because clients may be sent there while an endpoint moves: "
                f"{', '.join(moved)}. Where one cannot be built: deliver the change of release or "
                "instance type and that of models one after the other"
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
        raise NotDelivered(f"{stack} has no output with the name of the models' bucket")
    return bucket
