"""Deploy an assembly, and verify that it serves."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from endpoint_client import EndpointClient, EndpointError
from release.delivery import cdk, smoke, under_way
from release.delivery.archive_bucket import ArchiveBucket, stack_name, stack_outputs
from release.delivery.assembly import Assembly, StackEndpoint
from release.delivery.building import POLL_FUNCTION, START_FUNCTION, Builder, Properties
from release.delivery.credentials import expired, said
from release.delivery.declared import named_archives, prefixes
from release.delivery.endpoint_state import what_is_wrong
from release.delivery.errors import DeliveredWrong, NotDelivered, RollbackFailed, Unfinished
from release.delivery.live import live_template
from release.delivery.moving import Move, advice
from release.delivery.promotion import promote
from release.delivery.smoke import Served
from release.delivery.stack_failures import newest_events, reasons_since
from release.delivery.steps import say, step
from release.delivery.time_budget import TimeBudget
from release.delivery.unscaled import Unscaled, unscaled
from release.exports import exporter, exports, imports
from release.stack_template import stack_template
from release.tree import Template

VERIFY_SECONDS = 30 * 60
"""How long it is waited for endpoints that change, and until the last model is asked."""


@dataclass(frozen=True)
class Deployment:
    """An assembly on its way to its stage; `session` is in the stage's region."""

    assembly: Assembly
    session: boto3.Session

    def say_how_long(self) -> None:
        """Say what each part may take, as the app has summed it up."""
        budget = self._time_budget()
        for line in budget.lines() if budget else ():
            say(line)

    def refuse_lost_exports(self) -> None:
        """Raise `NotDelivered` where an endpoint imports what the stacks will no longer export.

        CloudFormation refuses to delete an export that another stack imports (user guide, "Get
        exported outputs from a deployed CloudFormation stack"), and endpoints change last. One
        whose stack left the app is not asked.
        """
        self._at_rest()
        new = self.assembly.templates
        exported = frozenset[str]().union(*map(exports, new.values()))
        for endpoint in self.assembly.endpoints:
            imported = imports(self._live_template(endpoint) or {})
            lost = sorted(it for it in imported - exported if exporter(it) in new)
            if lost:
                raise NotDelivered(
                    f"{endpoint.stack} imports {', '.join(lost)}, which CloudFormation would "
                    "refuse to delete, and that commit does not have: nothing was changed, roll "
                    "forward with a commit upon what is live that brings back what shall serve "
                    f"(make deliver STAGE={self.assembly.stage})"
                )

    def promote_from(self, stage: str, *, session: boto3.Session) -> None:
        """Copy the archives that this stage needs from the bucket of another one.

        `session` is in the other stage's region. Raises `NotDelivered` where there is no such
        bucket, or this stage's holds other bytes.
        """
        self._at_rest()
        other = self._bucket(stage, session)
        if other is None:
            raise NotDelivered(
                f"there is no stack {stack_name(stage)} in this account: deliver {stage} first, or "
                "deliver without FROM_STAGE, which builds what is missing"
            )
        with step(f"promote the archives of {stage}"):
            own = self._own_bucket()
            moved = {key for move in self._moves() for key in move.keys}
            missing = {key for key in moved if own.manifest(key) is None}
            for key in sorted({*self.assembly.archives, *missing}):
                found = promote(key, source=other, to=own)
                say(f"  {key}: {found}")

    def build(self) -> None:
        """Build the archives that nobody has built yet, before anything changes that serves.

        Those are the commit's own, and what clients may be sent to while an endpoint moves; see
        `Move`. CloudFormation, which would have the own ones built too, waits no longer than an
        hour. Raises `NotDelivered` with the reason of the first build that fails, or where an
        archive cannot be built again.
        """
        self._at_rest()
        bucket = self._bucket(self.assembly.stage, self.session)
        missing = {
            key: stack
            for key, stack in self.assembly.archives.items()
            if bucket is None or bucket.manifest(key) is None
        }
        moved = self._missing_on_the_way(bucket) if bucket else {}
        if not missing and not moved:
            say("  every archive is there: nothing is built")
            return
        self._deploy(stack_name(self.assembly.stage))
        stacks = [*missing.values(), *(stack for stack, _ in moved.values())]
        with step("publish what the archives are built from"):
            if not cdk.publish_assets(self.assembly.folder, *dict.fromkeys(stacks)):
                raise NotDelivered("the cdk CLI could not upload it, and says why above")
        outputs = stack_outputs(self.session.client("cloudformation"), stage=self.assembly.stage)
        builds = self._builds(outputs[self.assembly.bucket_export])
        budget = self._time_budget()
        wanted = [builds[key] for key in missing] + [it for _, it in moved.values()]
        with step(f"build {len(wanted)} of {len(builds) + len(moved)} archives"):
            for key, (stack, _) in moved.items():
                say(f"  {key}: while {stack} moves, clients may be sent to it")
            try:
                Builder(
                    self.session.client("lambda"),
                    outputs[START_FUNCTION],
                    outputs[POLL_FUNCTION],
                    budget.build_minutes if budget else None,
                ).build(wanted)
            except NotDelivered as error:
                raise NotDelivered(f"{error}{advice(moved)}") from None

    def _missing_on_the_way(self, bucket: ArchiveBucket) -> dict[str, tuple[str, Properties]]:
        """Return the archives that are missing for a move: their keys, stacks and builds.

        Raises `NotDelivered` with all that cannot be built.
        """
        builds, found, refused = self._builds(bucket.name), {}, []
        for move in self._moves():
            for key in move.keys:
                if key in builds or bucket.manifest(key) is not None:
                    continue
                try:
                    properties = move.build(key, builds=builds, bucket=bucket)
                    found[key] = (move.endpoint.stack, properties)
                except NotDelivered as error:
                    refused.append(str(error))
        if refused:
            raise NotDelivered("\n  ".join(dict.fromkeys(refused)))
        return found

    def _moves(self) -> list[Move]:
        """Return the endpoints that will load from other prefixes than they do."""
        found = []
        for endpoint in self.assembly.endpoints:
            live, new = self._live_template(endpoint), self._new_template(endpoint)
            if live is None or prefixes(live) == prefixes(new):
                continue
            if not prefixes(live) or not prefixes(new):
                continue  # it would be hosted in another way, which the guard refuses
            stage, client = self.assembly.stage, self._client(endpoint)
            named = {client.resolve(model).target_model for model in client.models()}
            archives = named_archives(new).union(it for it in named if it)
            found.append(Move(stage, endpoint, prefixes(live) | prefixes(new), archives))
        return found

    def _client(self, endpoint: StackEndpoint) -> EndpointClient:
        stage = self.assembly.stage
        return EndpointClient(stage=stage, endpoint=endpoint.short_name, session=self.session)

    def _builds(self, bucket: str) -> dict[str, Properties]:
        return self.assembly.builds(
            {
                "AWS::AccountId": self.session.client("sts").get_caller_identity()["Account"],
                "AWS::Region": self.session.region_name,
                self.assembly.bucket_import: bucket,
            }
        )

    def _new_template(self, endpoint: StackEndpoint) -> Template:
        return self.assembly.templates[endpoint.stack]

    def _live_template(self, endpoint: StackEndpoint) -> Template | None:
        sagemaker = self.session.client("sagemaker")
        return live_template(sagemaker, self.session.client("cloudformation"), endpoint)

    def deploy(self) -> None:
        """Deploy every stack, after what an earlier delivery has begun.

        A scaled variant that gets other instances may not be registered for scaling then: its stack
        is deployed twice, first as it is without that scaling. CloudFormation deletes last, so that
        the new template without it would not do.

        Raises `NotDelivered` with CloudFormation's reasons, once what was scaled is scaled again,
        and `DeliveredWrong` where it is not; `RollbackFailed` where CloudFormation could not bring
        a stack back; `Unfinished` where CloudFormation goes on or nobody can ask, such as after the
        credentials have expired.
        """
        begun: list[Unscaled] = []
        stacks = self._at_rest()
        try:
            with _unfinished(_at_work(stacks)):
                for endpoint in self.assembly.endpoints:
                    live = self._live_template(endpoint)
                    if live and (it := unscaled(endpoint, live, self._new_template(endpoint))):
                        say(
                            f"  {endpoint.name} is deployed twice: "
                            f"first {it.variants} without scaling"
                        )
                        begun.append(it)
                        self._deploy_template(it, it.without)
                self._deploy(*stacks)
        except NotDelivered as error:
            raise NotDelivered(
                "\n  ".join([str(error), *self._scaled_again(begun, error)])
            ) from None
        except (Unfinished, DeliveredWrong, BotoCoreError, ClientError, EndpointError) as error:
            if not begun:
                raise
            raise _kind(error)("\n  ".join([str(error), *(it.left for it in begun)])) from None

    def _scaled_again(self, begun: list[Unscaled], because: NotDelivered) -> list[str]:
        """Bring scaling back where a stack was rolled back to what it is without; say so."""
        said = []
        for it in begun:
            try:
                with _unfinished(_at_work([it.endpoint.stack])):
                    live = stack_template(self.session.client("cloudformation"), it.endpoint.stack)
                    if live != it.without:
                        continue  # it has its new template, or the first deploy was rolled back too
                    self._deploy_template(it, it.live)
            except (Unfinished, DeliveredWrong, NotDelivered, ClientError, EndpointError) as error:
                raise _kind(error)(f"{because}\n  {it.left}\n  {error}") from None
            said.append(f"{it.endpoint.name}: {it.variants} scales again, as before")
        return said

    def _deploy_template(self, it: Unscaled, template: Template) -> None:
        with self.assembly.with_template(it.endpoint.stack, template) as folder:
            self._deploy(it.endpoint.stack, assembly=folder)

    def _deploy(self, *stacks: str, assembly: Path | None = None) -> None:
        cloudformation = self.session.client("cloudformation")
        with _unfinished(_at_work(stacks)):
            events, before = newest_events(cloudformation, stacks), self._served()
            with step(f"cdk deploy: {', '.join(stacks)}"):
                if cdk.deploy(assembly or self.assembly.folder, *stacks):
                    return
                try:
                    going_on = under_way.in_progress(cloudformation, stacks)
                    stuck = under_way.rollback_failed(cloudformation, stacks)
                    reasons = reasons_since(cloudformation, stacks, events)
                    serves = [] if stuck else _compared(before, self._served())
                except (ClientError, EndpointError) as error:
                    raise Unfinished(
                        f"the cdk CLI failed, and CloudFormation may be at work: {said(error)}"
                    ) from error
                if going_on:
                    raise Unfinished(f"the cdk CLI failed, and {', '.join(going_on)} goes on")
                if stuck:
                    raise RollbackFailed("\n  ".join([*reasons, *map(_way_on, stuck)]))
                raise NotDelivered("\n  ".join([*reasons, *serves]))

    def _at_rest(self) -> tuple[str, ...]:
        """Return all stacks once nothing changes any more of them: what is live is read then."""
        stacks = tuple(self.assembly.templates)
        with _unfinished(_at_work(stacks)):
            under_way.wait_for_stacks(self.session.client("cloudformation"), stacks)
            names = [it.name for it in self.assembly.endpoints]
            under_way.wait_for_endpoints(self.session.client("sagemaker"), names)
        return stacks

    def verify(self, models: Path) -> None:
        """Compare endpoints with the assembly, and answers with the golden files in `models`.

        Raises `DeliveredWrong` with everything that is wrong, `Unfinished` where nobody knows.
        """
        deadline = time.monotonic() + VERIFY_SECONDS
        asked = self.session, self.assembly.stage, self.assembly.endpoints, models
        try:
            with _unfinished("everything is deployed, and not verified"):
                with step("every endpoint serves with the configuration that was deployed"):
                    _refuse(self._endpoint_faults(deadline))
                with step("every model answers as it should"):
                    _refuse(smoke.wrong_answers(*asked, deadline=deadline))
        except (ClientError, EndpointError) as error:
            raise DeliveredWrong(f"what was deployed cannot be verified: {error}") from error

    def _endpoint_faults(self, deadline: float) -> list[str]:
        sagemaker = self.session.client("sagemaker")
        cloudformation = self.session.client("cloudformation")
        found = [
            what_is_wrong(sagemaker, cloudformation, endpoint, deadline=deadline)
            for endpoint in self.assembly.endpoints
        ]
        return [it for it in found if it]

    def _own_bucket(self) -> ArchiveBucket:
        """Return this stage's bucket; the first delivery of a stage creates it."""
        stage = self.assembly.stage
        bucket = self._bucket(stage, self.session)
        if bucket is None:
            self._deploy(stack_name(stage))
            bucket = self._bucket(stage, self.session)
            if bucket is None:
                raise NotDelivered(f"{stack_name(stage)} says of no bucket that it is the models'")
        return bucket

    def _bucket(self, stage: str, session: boto3.Session) -> ArchiveBucket | None:
        outputs = stack_outputs(session.client("cloudformation"), stage=stage)
        name = outputs.get(self.assembly.bucket_export)
        return ArchiveBucket(session.client("s3"), name) if name else None

    def _time_budget(self) -> TimeBudget | None:
        return TimeBudget.read(self.assembly.folder, stack_name(self.assembly.stage))

    def _served(self) -> Served:
        return smoke.served(self.session, self.assembly.stage, self.assembly.endpoints)


@contextmanager
def _unfinished(what: str) -> Iterator[None]:
    """Raise `Unfinished` with `what` where AWS can no longer be asked, or somebody interrupts."""
    try:
        yield
    except KeyboardInterrupt:
        raise Unfinished(f"interrupted, and {what}") from None
    except (BotoCoreError, ClientError, EndpointError) as error:
        if not isinstance(error, BotoCoreError) and not expired(error):
            raise
        raise Unfinished(f"{what}: {said(error)}") from error


def _at_work(stacks: Iterable[str]) -> str:
    return f"CloudFormation may be at work on {', '.join(stacks)}"


def _kind(error: Exception) -> type[Exception]:
    """Return how a deploy of which a part was done ends with `error`."""
    return type(error) if isinstance(error, (Unfinished, DeliveredWrong)) else DeliveredWrong


def _way_on(stack: str) -> str:
    return (
        f"{stack} is UPDATE_ROLLBACK_FAILED: CloudFormation could not bring it back, and its "
        "endpoint may serve the new configuration. Once the cause is gone: "
        f"aws cloudformation continue-update-rollback --stack-name {stack}; then deliver again"
    )


def _refuse(wrong: list[str]) -> None:
    if wrong:
        raise DeliveredWrong("\n  ".join(wrong))


def _compared(before: Served, after: Served) -> list[str]:
    """Say what serves, one line a model."""
    if not after:
        return ["no model served before, and none does now"]
    return [
        f"{model} {version} serves"
        + (", as before" if before.get(model) == version else f", before {before.get(model)}")
        for model, version in after.items()
    ]
