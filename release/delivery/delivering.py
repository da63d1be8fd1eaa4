"""Deliver a commit to a stage, and roll back to an earlier one."""

from collections.abc import Iterator

import boto3

import stage_record
from release.checkouts import Clone
from release.delivery import golden
from release.delivery.archive_bucket import model_bucket
from release.delivery.archives import build_missing_archives, promote_archives
from release.delivery.assembly import synthesise_stage
from release.delivery.catalog_checks import check_catalog_before
from release.delivery.delivery_order import refuse_older_commit, require_delivered_commit
from release.delivery.deploying import deploy
from release.delivery.deployment import StageDeployment
from release.delivery.errors import DeliveryError, NotDelivered, next_steps
from release.delivery.history import ROLLBACK, History
from release.delivery.preflight_gate import run_preflight
from release.delivery.recording import record_delivery
from release.delivery.steps import say
from release.delivery.verifying import verify
from release.tree import Tree
from stage_record import Event

RESTORED_EVENTS = 100
"""Number of events in which a deleted record's deliveries are looked for."""
UNCOMMITTED_CHANGES = (
    "the working tree has uncommitted changes, to which no rollback is possible: commit or stash "
    "them (git status)"
)


def deliver(
    clone: Clone,
    stage: str,
    *,
    from_stage: str | None,
    ignore_preflight: bool = False,
    allow_older: bool = False,
    take_over: bool = False,
) -> list[str]:
    """Deliver the checked-out commit to `stage`; return the models that were not invoked.

    With `from_stage`, copy archives from that stage. With `ignore_preflight`, refusals of the
    preflight do not end the delivery; with `allow_older`, the commit need not contain the live one;
    with `take_over`, another delivery may be in progress. Raise `DeliveryError`.
    """
    for name in filter(None, (stage, from_stage)):
        clone.stage(name)  # reports an unknown stage before uncommitted changes
    commit = clone.clean_head()
    if commit is None:
        raise NotDelivered(UNCOMMITTED_CHANGES)
    golden.check_golden_files(clone.models)
    history = _history(clone, stage)
    if not allow_older:
        refuse_older_commit(clone, stage, history.live_delivery())
    history.refuse_in_progress(commit, take_over=take_over)
    if from_stage is not None:
        require_delivered_commit(_history(clone, from_stage), commit)
    with synthesise_stage(clone, stage) as assembly:
        session = _session(clone, stage)
        run_preflight(clone, assembly, session, ignore_findings=ignore_preflight)
        deployment = StageDeployment(assembly, session)
        deployment.wait_for_operations()  # before recording and copying
        for line in deployment.time_budget.lines():
            say(line)
        if from_stage is not None:
            promote_archives(deployment, from_stage, session=_session(clone, from_stage))
        check_catalog_before(deployment)
        with record_delivery(
            deployment, history, "deliver", commit, take_over=take_over
        ) as live_delivery:
            if not allow_older:  # checked again, because another delivery may have ended
                refuse_older_commit(clone, stage, live_delivery)
            return _build_and_deploy(deployment, history, clone)


def roll_back(
    clone: Clone, stage: str, *, to: str | None, take_over: bool = False
) -> tuple[str, list[str]]:
    """Deploy the earlier commit `to`; return the commit, and the models that were not invoked.

    Without `to`, deploy the last successful delivery of another commit than the live one. The app
    of that commit runs in a worktree, with the packages that are installed now; its archives are in
    the bucket. If the rollback moves an endpoint to an earlier prefix, archives of newer models are
    built first, and a model that was published by hand is refused. Raise `DeliveryError`.
    """
    history = _history(clone, stage)
    target = history.rollback_target(to)
    history.refuse_in_progress(target.commit, take_over=take_over)
    say(f"rolling back to {target.commit[:12]}, delivered {target.time}")
    with (
        clone.checked_out(target.commit) as tree,
        synthesise_stage(tree, stage) as assembly,
    ):
        deployment = StageDeployment(assembly, _session(tree, stage))
        deployment.wait_for_operations()
        check_catalog_before(deployment)
        with record_delivery(
            deployment, history, ROLLBACK, target.commit, rolls_back_to=target, take_over=take_over
        ):
            return target.commit, _build_and_deploy(deployment, history, tree)


def _build_and_deploy(deployment: StageDeployment, history: History, tree: Tree) -> list[str]:
    """Build, deploy and verify; return the models that were not invoked."""
    build_missing_archives(deployment)
    history.refuse_superseded()
    try:
        deploy(deployment)
        return verify(deployment, tree.models)
    except DeliveryError as error:
        message = str(error)
        lines = [message, *next_steps(message, deployment.assembly.stage)]
        raise type(error)("\n  ".join(lines)) from error.__cause__


def _history(tree: Tree, stage: str) -> History:
    session = _session(tree, stage)

    def events() -> Iterator[Event]:
        if bucket := model_bucket(session.client("cloudformation"), stage):
            yield from stage_record.read(session.client("s3"), bucket, latest=RESTORED_EVENTS)

    return History(session.client("ssm"), stage, events)


def _session(tree: Tree, stage: str) -> boto3.Session:
    return boto3.Session(region_name=tree.stage(stage).region)
