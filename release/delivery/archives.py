"""The archives of a delivery: all are there before anything changes that serves."""

import boto3

from endpoint_client import EndpointClient
from release.delivery import cdk
from release.delivery.archive_bucket import ArchiveBucket, stack_name, stack_outputs
from release.delivery.building import POLL_FUNCTION, START_FUNCTION, Builder, Properties
from release.delivery.deployment import Deployment
from release.delivery.errors import NotDelivered
from release.delivery.moving import Move, advice
from release.delivery.promotion import promote
from release.delivery.steps import say, step
from release.stage_resources import named_archives, prefixes


def promote_from(deployment: Deployment, stage: str, *, session: boto3.Session) -> None:
    """Copy the archives that this stage needs from the bucket of another one.

    `session` is in the other stage's region. Raises `NotDelivered` where there is no such
    bucket, an archive is not what that stage's builder made, or this stage's holds other bytes.
    """
    deployment.at_rest()
    other = deployment.bucket_of(stage, session)
    if other is None:
        raise NotDelivered(
            f"there is no stack {stack_name(stage)} in this account: deliver {stage} first, or "
            "deliver without FROM_STAGE, which builds what is missing"
        )
    with step(f"promote the archives of {stage}"):
        own = _own_bucket(deployment)
        archives = deployment.assembly.archives
        digests = {key: archive.digest for key, archive in archives.items()}
        for move in _moves(deployment):
            digests = move.digests(digests, own) | digests
        for key, digest in sorted(digests.items()):
            say(f"  {key}: {promote(key, digest=digest, source=other, to=own)}")


def build(deployment: Deployment) -> None:
    """Build the archives that nobody has built yet, before anything changes that serves.

    Those are the commit's own, and what clients may be sent to while an endpoint moves; see
    `Move`. CloudFormation, which would have the own ones built too, waits no longer than an
    hour. Raises `NotDelivered` with the reason of the first build that fails, or where an
    archive cannot be built again.
    """
    deployment.at_rest()
    assembly, bucket = deployment.assembly, deployment.bucket
    missing = {
        key: archive.stack
        for key, archive in assembly.archives.items()
        if bucket is None or not bucket.is_complete(key)
    }
    moved = _missing_on_the_way(deployment, bucket) if bucket else {}
    if not missing and not moved:
        say("  every archive is there: nothing is built")
        return
    models = stack_name(assembly.stage)
    if not deployment.is_deployed(models):
        deployment.deploy(models)
    stacks = [*missing.values(), *(stack for stack, _ in moved.values())]
    with step("publish what the archives are built from"):
        published = cdk.publish_assets(assembly.folder, *dict.fromkeys(stacks))
        if not published.succeeded:
            raise NotDelivered("\n  ".join(published.reasons))
    outputs = stack_outputs(deployment.session.client("cloudformation"), stage=assembly.stage)
    builds = _builds(deployment, _own_bucket(deployment).name)
    budget = deployment.time_budget
    wanted = [builds[key] for key in missing] + [it for _, it in moved.values()]
    with step(f"build {len(wanted)} of {len(builds) + len(moved)} archives"):
        for key, (stack, _) in moved.items():
            say(f"  {key}: while {stack} moves, clients may be sent to it")
        try:
            Builder(
                deployment.session.client("lambda"),
                outputs[START_FUNCTION],
                outputs[POLL_FUNCTION],
                budget.build_minutes if budget else None,
            ).build(wanted)
        except NotDelivered as error:
            raise NotDelivered(f"{error}{advice(moved)}") from None


def _missing_on_the_way(
    deployment: Deployment, bucket: ArchiveBucket
) -> dict[str, tuple[str, Properties]]:
    """Return the archives that are missing for a move: their keys, stacks and builds.

    Raises `NotDelivered` with all that cannot be built.
    """
    builds, found, refused = _builds(deployment, bucket.name), {}, []
    for move in _moves(deployment):
        for key in move.keys:
            if key in builds or bucket.is_complete(key):
                continue
            try:
                properties = move.build(key, builds=builds, bucket=bucket)
                found[key] = (move.endpoint.stack, properties)
            except NotDelivered as error:
                refused.append(str(error))
    if refused:
        raise NotDelivered("\n  ".join(dict.fromkeys(refused)))
    return found


def _moves(deployment: Deployment) -> list[Move]:
    """Return the endpoints that will load from other prefixes than they do."""
    found, stage = [], deployment.assembly.stage
    for endpoint in deployment.assembly.endpoints:
        live, new = deployment.live(endpoint), deployment.new(endpoint)
        if live is None or prefixes(live) == prefixes(new):
            continue
        if not prefixes(live) or not prefixes(new):
            continue  # it would be hosted in another way, which the guard refuses
        session = deployment.session
        client = EndpointClient(stage=stage, endpoint=endpoint.short_name, session=session)
        named = {client.resolve(model).target_model for model in client.models()}
        archives = named_archives(new).union(it for it in named if it)
        found.append(Move(stage, endpoint, prefixes(live) | prefixes(new), archives))
    return found


def _builds(deployment: Deployment, bucket: str) -> dict[str, Properties]:
    session, assembly = deployment.session, deployment.assembly
    return assembly.builds(
        {
            "AWS::AccountId": session.client("sts").get_caller_identity()["Account"],
            "AWS::Region": session.region_name,
            assembly.bucket_import: bucket,
        }
    )


def _own_bucket(deployment: Deployment) -> ArchiveBucket:
    """Return this stage's bucket; the first delivery of a stage creates it."""
    if deployment.bucket is None:
        deployment.deploy(stack_name(deployment.assembly.stage))
    bucket = deployment.bucket
    if bucket is None:
        stack = stack_name(deployment.assembly.stage)
        raise NotDelivered(f"{stack} says of no bucket that it is the models'")
    return bucket
