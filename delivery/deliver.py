"""Deliver a release to a stage, and roll back to an earlier one.

A delivery deploys the files of the release: it neither synthesises nor imports code of the app.
"""

from functools import partial

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from delivery.archives import build_missing_archives, promote_archives
from delivery.assembly import Assembly, open_assembly
from delivery.catalog import restore_catalog_before_deploy
from delivery.deploy import StageDeployment, deploy
from delivery.drift import last_delivery, stacks_deployed_by_hand
from delivery.errors import DeliveryError, NotDelivered, explain_error, next_steps
from delivery.preflight.account import Account, NoCredentials, Verdict, caller, table
from delivery.preflight.checks import run_checks
from delivery.record import TAKE_OVER_OPTION, History
from delivery.steps import say, step
from delivery.store import save_release, stored_release
from delivery.verify import VerifiedStage, verify
from plan import golden
from plan.stage_record import DELIVER, ROLLBACK, DeliveryOutcome, Event
from release.artefact import ReleaseArtefact
from release.checkout import Checkout

ALLOW_OLDER_OPTION = "ALLOW_OLDER=1"
"""The option that allows a delivery to undo the live commit."""
UNCOMMITTED_CHANGES = (
    "the release was built from uncommitted changes, which no review has seen: commit or stash "
    "them (git status), and build it again (make release)"
)


def deliver(
    release: ReleaseArtefact,
    stage: str,
    *,
    from_stage: str | None,
    ignore_preflight: bool = False,
    allow_older: bool = False,
    take_over: bool = False,
) -> VerifiedStage:
    """Deliver a release to `stage`; return the models that were not invoked or not built.

    With `from_stage`, copy archives from that stage. With `ignore_preflight`, refusals of the
    preflight do not end the delivery; with `allow_older`, the commit need not contain the live one;
    with `take_over`, another delivery may be in progress, and stacks may have been deployed by
    hand. Raise `DeliveryError`.
    """
    with open_assembly(release, stage) as assembly:
        if release.commit is None:
            raise NotDelivered(UNCOMMITTED_CHANGES)
        golden.check_golden_files(assembly.tree.models)
        session = _session(assembly.tree, stage)
        history = stage_history(session, stage)
        live = history.refuse_in_progress(release.digest, take_over=take_over)
        if not allow_older:
            refuse_older_release(release, stage, live)
        if from_stage is not None:
            with open_assembly(release, from_stage) as source_assembly:
                source = _session(source_assembly.tree, from_stage)
            require_delivered_release(stage_history(source, from_stage), release)
        run_preflight(assembly, session, ignore_findings=ignore_preflight)
        deployment = StageDeployment(assembly, session)
        deployment.wait_for_operations()  # before recording and copying
        if not take_over:
            _refuse_deploys_by_hand(deployment)
        budget = assembly.plan.time_budget
        say(
            f"  at most {sum(budget.rows.values())} minutes, of which builds {budget.build_minutes}"
        )
        if from_stage is not None:
            promote_archives(deployment, from_stage, session=source)
        restore_catalog_before_deploy(deployment)
        with history.record(
            deployment, DELIVER, commit=release.commit, release=release.digest, take_over=take_over
        ) as live:
            if not allow_older:  # checked again, because another delivery may have ended
                refuse_older_release(release, stage, live)
            return _build_and_deploy(deployment, history, release)


def roll_back(
    session: boto3.Session, stage: str, *, to: str | None, take_over: bool = False
) -> tuple[str, VerifiedStage]:
    """Deploy the endpoints of an earlier release; return its name, and the result of `deliver`.

    `to` is the beginning of a release's digest or of its commit; by default, the last successful
    delivery of another release than the live one. The release and its archives are in the bucket
    of the stage. Persistent stacks are kept. If the rollback moves an endpoint to an earlier
    prefix, archives of newer models are built first, and a model that was published by hand is
    refused. Raise `DeliveryError`.
    """
    history = stage_history(session, stage)
    target = history.rollback_target(to)
    digest, commit, name = target.release or "", target.commit or "", target.release_name
    history.refuse_in_progress(digest, take_over=take_over)
    bucket = StageDeployment.bucket_of(stage, session)
    assert bucket  # it has the record of the target
    say(f"rolling back to {name}, delivered {target.begun}")
    with (
        stored_release(bucket, digest, stage) as release,
        open_assembly(release, stage) as assembly,
    ):
        deployment = StageDeployment(assembly, session, endpoints_only=True)
        deployment.wait_for_operations()
        for stack in deployment.kept_stacks():
            say(f"! {stack} differs from this release, and is kept: deliver a release to change it")
        restore_catalog_before_deploy(deployment)
        with history.record(
            deployment, ROLLBACK, commit=commit, release=digest, take_over=take_over
        ):
            return name, _build_and_deploy(deployment, history, release)


def _build_and_deploy(
    deployment: StageDeployment, history: History, release: ReleaseArtefact
) -> VerifiedStage:
    """Build, deploy, store and verify a release."""
    build_missing_archives(deployment)
    history.refuse_superseded(release.digest)
    try:
        deploy(deployment)
        _save(deployment, release)
        return verify(deployment, deployment.assembly.tree.models)
    except DeliveryError as error:
        message = str(error)
        lines = [message, *next_steps(message, deployment.assembly.stage)]
        raise type(error)("\n  ".join(lines)) from error.__cause__


def _save(deployment: StageDeployment, release: ReleaseArtefact) -> None:
    """Write the release to the store: after the deploy, which creates the bucket and its policy.

    Print errors instead of raising them, because the release is deployed.
    """
    stage, bucket = deployment.assembly.stage, deployment.bucket
    assert bucket  # the deploy has created it
    try:
        save_release(bucket, release, stage)
    except (BotoCoreError, ClientError) as error:
        say(
            f"! release {release.name} is not stored, and no rollback to it is possible: "
            f"{explain_error(error)}. Only the deploy role of a stage with `delivery` may store: "
            f"deliver by the workflow, or deploy {stage}-delivery again"
        )


def refuse_older_release(release: ReleaseArtefact, stage: str, live: Event | None) -> None:
    """Raise `NotDelivered` if the commit of a release does not contain a stage's live commit."""
    if live is None or live.release == release.digest:
        return
    if live.commit not in (release.commit, *release.ancestors):
        raise NotDelivered(
            f"{stage} serves {live.release_name}, delivered {live.begun}, which is not among the "
            f"last {len(release.ancestors)} commits of this release, {release.name}: this delivery "
            "would revert it. Merge it, and deliver the release of the merge; if it was built in a "
            "shallow clone: git fetch --unshallow, and build it again. To go back: make rollback "
            f"STAGE={stage}. To revert it anyway: {ALLOW_OLDER_OPTION}"
        )


def require_delivered_release(history: History, release: ReleaseArtefact) -> None:
    """Raise `NotDelivered` unless a release was delivered to the stage to promote from."""
    deliveries = history.deliveries()
    events = [event for event in deliveries.entries if event.release == release.digest]
    state = f"ended as {events[-1].result!r} in" if events else "was not delivered to"
    if events and events[-1].result == DeliveryOutcome.DELIVERED:
        if events[-1] in deliveries.remaining():
            return
        state = "was rolled back in"
    raise NotDelivered(
        f"release {release.name} {state} {history.stage}, and only a release that was delivered "
        f"there is promoted: make deliver STAGE={history.stage}"
    )


def run_preflight(
    assembly: Assembly, session: boto3.Session, *, ignore_findings: bool = False
) -> None:
    """Run the preflight of an assembly.

    Raise `NotDelivered` with the findings that would make the deploy fail; with `ignore_findings`,
    only print them.
    """
    with step("check the account (make preflight)"):
        try:
            identity = caller(session)
            account = Account(session, identity, assembly.tree, assembly.stage, assembly.folder)
        except NoCredentials as error:
            raise NotDelivered(f"no credentials: {error}") from None
        findings = list(run_checks(account))
        refused = [finding for finding in findings if finding.verdict is Verdict.REFUSED]
        if refused and not ignore_findings:
            raise NotDelivered(
                f"the preflight failed:\n{table(refused)}\n  Nothing was changed. If the preflight "
                "is wrong: make deliver ... IGNORE_PREFLIGHT=1"
            )
    for finding in findings:
        if finding.verdict is not Verdict.OK:
            mark = "!" if finding.verdict is Verdict.REFUSED else "? not checked:"
            say(f"{mark} {finding.subject}: {finding.message}")


def stage_history(session: boto3.Session, stage: str) -> History:
    """Return the record of a stage's deliveries; `session` is in the stage's region."""
    return History(stage, partial(StageDeployment.bucket_of, stage, session))


def _refuse_deploys_by_hand(deployment: StageDeployment) -> None:
    """Raise `NotDelivered` if stacks were deployed after the last delivery, but not by one."""
    cloudformation, bucket = deployment.session.client("cloudformation"), deployment.bucket
    last = last_delivery(bucket) if bucket else None
    if stacks := stacks_deployed_by_hand(cloudformation, last):
        assert last
        stage = deployment.assembly.stage
        raise NotDelivered(
            f"{', '.join(stacks)}: deployed by hand after the delivery of {last.ended}, such as by "
            f"`tritonsm deploy`; this delivery would revert that. The changes: cdk diff -c "
            f"stage={stage}. To replace them: {TAKE_OVER_OPTION}"
        )


def _session(tree: Checkout, stage: str) -> boto3.Session:
    return boto3.Session(region_name=tree.stage(stage).region)
