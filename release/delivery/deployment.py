"""An assembly on its way to its stage: what is live of it, and the deploy of a stack."""

from dataclasses import dataclass
from pathlib import Path

import boto3
from botocore.exceptions import ClientError

from release.delivery import cdk, under_way
from release.delivery.archive_bucket import ArchiveBucket, model_bucket
from release.delivery.assembly import Assembly
from release.delivery.errors import (
    NotDelivered,
    RollbackFailed,
    Unfinished,
    explained,
    may_be_updating,
    unfinished,
)
from release.delivery.stack_failures import newest_events, reasons_since
from release.delivery.steps import say, step
from release.delivery.stuck_rollback import stuck_rollback
from release.delivery.time_budget import TimeBudget
from release.stack_template import stack_template
from release.stage_resources import StackEndpoint
from release.tree import Template


@dataclass(frozen=True)
class Deployment:
    """An assembly on its way to its stage; `session` is in the stage's region."""

    assembly: Assembly
    session: boto3.Session

    def say_how_long(self) -> None:
        """Say what each part may take, as the app has summed it up."""
        for line in self.time_budget.lines() if self.time_budget else ():
            say(line)

    @property
    def time_budget(self) -> TimeBudget | None:
        """What each part may take; None where the app does not say."""
        return TimeBudget.read(self.assembly.folder)

    @property
    def bucket(self) -> ArchiveBucket | None:
        """The bucket of the stage's archives; None before its first delivery."""
        return self.bucket_of(self.assembly.stage, self.session)

    def bucket_of(self, stage: str, session: boto3.Session) -> ArchiveBucket | None:
        """Return the bucket of a stage's archives; `session` is in that stage's region."""
        name = model_bucket(session.client("cloudformation"), stage)
        return ArchiveBucket(session.client("s3"), name) if name else None

    def new(self, endpoint: StackEndpoint) -> Template:
        """Return the template that an endpoint's stack will have."""
        return self.assembly.templates[endpoint.stack]

    def live(self, endpoint: StackEndpoint) -> Template | None:
        """Return the template that an endpoint was deployed with; None if it is not there.

        A stack whose first deploy failed has a template, and no endpoint.
        """
        if under_way.description_of(self.session.client("sagemaker"), endpoint.name) is None:
            return None
        return stack_template(self.session.client("cloudformation"), endpoint.stack)

    def is_deployed(self, stack: str) -> bool:
        """Whether a deploy would change no resource of a stack, whose last one has succeeded."""
        cloudformation = self.session.client("cloudformation")
        new = self.assembly.templates[stack]
        return under_way.is_complete(cloudformation, stack) and new == stack_template(
            cloudformation, stack
        )

    def at_rest(self) -> tuple[str, ...]:
        """Return all stacks once nothing changes any more of them: what is live is read then.

        Raises `NotDelivered` where CloudFormation could not roll one of them back.
        """
        stacks = tuple(self.assembly.templates)
        cloudformation = self.session.client("cloudformation")
        with unfinished(may_be_updating(stacks)):
            under_way.wait_for_stacks(cloudformation, stacks)
            if stuck := under_way.rollback_failed(cloudformation, stacks):
                raise NotDelivered("\n  ".join(["Nothing was changed", *self._ways_on(stuck)]))
            names = [it.name for it in self.assembly.endpoints]
            under_way.wait_for_endpoints(self.session.client("sagemaker"), names)
        return stacks

    def deploy(self, *stacks: str, assembly: Path | None = None) -> None:
        """Deploy some stacks, of the folder of another assembly if one is given.

        Raises `NotDelivered` with CloudFormation's reasons, `RollbackFailed` where a stack could
        not be rolled back, `Unfinished` where CloudFormation goes on.
        """
        cloudformation = self.session.client("cloudformation")
        with unfinished(may_be_updating(stacks)):
            events = newest_events(cloudformation, stacks)
            with step(f"cdk deploy: {', '.join(stacks)}"):
                deployed = cdk.deploy(assembly or self.assembly.folder, *stacks)
                if deployed.succeeded:
                    return
                try:
                    going_on = under_way.in_progress(cloudformation, stacks)
                    stuck = under_way.rollback_failed(cloudformation, stacks)
                    reasons = reasons_since(cloudformation, stacks, events)
                except ClientError as error:
                    raise Unfinished(
                        "the cdk CLI failed, and CloudFormation may still be updating: "
                        f"{explained(error)}"
                    ) from error
                if going_on:
                    raise Unfinished(
                        "the cdk CLI failed, and CloudFormation is still updating "
                        f"{', '.join(going_on)}"
                    )
                if stuck:
                    first = reasons[:1]  # the others are of the rollback
                    raise RollbackFailed("\n  ".join([*first, *self._ways_on(stuck)]))
                raise NotDelivered("\n  ".join(reasons or deployed.reasons))

    def _ways_on(self, stuck: list[str]) -> list[str]:
        """Return for each stack in UPDATE_ROLLBACK_FAILED what failed, and what to run."""
        endpoints = {it.stack: it for it in self.assembly.endpoints}
        cloudformation = self.session.client("cloudformation")
        sagemaker = self.session.client("sagemaker")
        return [
            str(stuck_rollback(cloudformation, sagemaker, stack, endpoints.get(stack)))
            for stack in stuck
        ]
