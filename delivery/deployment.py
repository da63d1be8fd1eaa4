"""The deployment of an assembly: live templates, running operations, and `cdk deploy`."""

from dataclasses import dataclass
from pathlib import Path

import boto3
from botocore.exceptions import ClientError

from delivery import cdk
from delivery.archive_bucket import ArchiveBucket, model_bucket
from delivery.assembly import Assembly
from delivery.endpoint_state import wait_for_endpoints
from delivery.errors import (
    NotDelivered,
    RollbackFailed,
    Unfinished,
    explain_error,
    raise_unfinished,
    still_updating_message,
)
from delivery.preflight.running_endpoints import endpoint_description
from delivery.stack_status import (
    operations_in_progress,
    stacks_with_failed_rollback,
    wait_for_stacks,
)
from delivery.steps import step
from delivery.stuck_rollback import describe_stuck_rollback
from plan.document import Plan, TimeBudget
from release.stack_endpoints import StackEndpoint
from release.stack_template import stack_template
from release.templates import Template


@dataclass(frozen=True)
class StageDeployment:
    """The deployment of an assembly to its stage; `session` is in the stage's region.

    With `endpoints_only`, as in a rollback, only the stacks of endpoints are deployed: persistent
    stacks keep what later releases have added, such as archives, logs and networks.
    """

    assembly: Assembly
    session: boto3.Session
    endpoints_only: bool = False

    @property
    def stacks(self) -> tuple[str, ...]:
        """The stacks to deploy."""
        if self.endpoints_only:
            return tuple(endpoint.stack for endpoint in self.assembly.endpoints)
        return tuple(self.assembly.templates)

    def kept_stacks(self) -> list[str]:
        """Return the stacks that are not deployed and have another template than the assembly."""
        cloudformation = self.session.client("cloudformation")
        return [
            stack
            for stack, template in self.assembly.templates.items()
            if stack not in self.stacks and stack_template(cloudformation, stack) != template
        ]

    @property
    def time_budget(self) -> TimeBudget:
        """The maximum duration of each step."""
        return Plan.read(self.assembly.folder).time_budget

    @property
    def bucket(self) -> ArchiveBucket | None:
        """The bucket with the stage's archives, None before the first delivery."""
        return self.bucket_of(self.assembly.stage, self.session)

    @staticmethod
    def bucket_of(stage: str, session: boto3.Session) -> ArchiveBucket | None:
        """Return the bucket with a stage's archives; `session` is in that stage's region."""
        name = model_bucket(session.client("cloudformation"), stage)
        return ArchiveBucket(session.client("s3"), name) if name else None

    def new_template(self, endpoint: StackEndpoint) -> Template:
        """Return the new template of an endpoint's stack."""
        return self.assembly.templates[endpoint.stack]

    def live_template(self, endpoint: StackEndpoint) -> Template | None:
        """Return the deployed template of an endpoint's stack, None if the endpoint does not exist.

        A stack whose first deploy failed has a template and no endpoint.
        """
        if endpoint_description(self.session.client("sagemaker"), endpoint.name) is None:
            return None
        return stack_template(self.session.client("cloudformation"), endpoint.stack)

    def wait_for_operations(self) -> None:
        """Wait until no operation is in progress on a stack or an endpoint of the stage.

        Raise `NotDelivered` if CloudFormation could not roll a stack back.
        """
        stacks = tuple(self.assembly.templates)
        cloudformation = self.session.client("cloudformation")
        with raise_unfinished(still_updating_message(stacks)):
            wait_for_stacks(cloudformation, stacks)
            if stuck_stacks := stacks_with_failed_rollback(cloudformation, stacks):
                raise NotDelivered(
                    "\n  ".join(["Nothing was changed", *self._describe_rollbacks(stuck_stacks)])
                )
            names = [endpoint.name for endpoint in self.assembly.endpoints]
            wait_for_endpoints(self.session.client("sagemaker"), names)

    def deploy(self, *stacks: str, assembly: Path | None = None) -> None:
        """Deploy stacks and their dependencies; with another `assembly` folder, no dependencies.

        Raise `NotDelivered` with the CLI's diagnosis, `RollbackFailed` if a stack could not be
        rolled back, `Unfinished` if CloudFormation is still working.
        """
        cloudformation = self.session.client("cloudformation")
        with (
            raise_unfinished(still_updating_message(stacks)),
            step(f"cdk deploy: {', '.join(stacks)}"),
        ):
            folder = assembly or self.assembly.folder
            parallel = cdk.parallel_stacks(self.session.client("lambda"), len(stacks))
            exclusively = self.endpoints_only or assembly is not None
            result = cdk.deploy(folder, *stacks, concurrency=parallel, exclusively=exclusively)
            if result.succeeded:
                return
            try:
                operations = operations_in_progress(cloudformation, stacks)
                stuck_stacks = stacks_with_failed_rollback(cloudformation, stacks)
            except ClientError as error:
                raise Unfinished(
                    "the cdk CLI failed, and CloudFormation may still be updating: "
                    f"{explain_error(error)}"
                ) from error
            if operations:
                raise Unfinished(
                    "the cdk CLI failed, and CloudFormation is still updating "
                    f"{', '.join(operations)}"
                )
            if stuck_stacks:
                lines = [*result.error_lines, *self._describe_rollbacks(stuck_stacks)]
                raise RollbackFailed("\n  ".join(lines))
            raise NotDelivered("\n  ".join(result.error_lines))

    def _describe_rollbacks(self, stacks: list[str]) -> list[str]:
        cloudformation = self.session.client("cloudformation")
        return [describe_stuck_rollback(cloudformation, stack) for stack in stacks]
