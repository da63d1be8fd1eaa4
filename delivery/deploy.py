"""Deploy the stacks of a stage; twice, if the instance type of a scaled variant changes."""

import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from delivery import cdk
from delivery.assembly import Assembly
from delivery.aws import stack_template
from delivery.bucket import model_bucket
from delivery.errors import (
    DeliveryError,
    FaultyDeployment,
    NotDelivered,
    RollbackFailed,
    Unfinished,
    explain_error,
    raise_unfinished,
    still_updating_message,
)
from delivery.state import (
    describe_stuck_rollback,
    operations_in_progress,
    stacks_with_failed_rollback,
    wait_for_endpoints,
    wait_for_stacks,
)
from delivery.steps import say, step
from plan.archives import ArchiveBucket
from plan.deployed import endpoint_description
from plan.document import EndpointSettings
from plan.updates import scaled_variants_that_change
from release.templates import Template, resources

DEPLOY_ERRORS = (Unfinished, FaultyDeployment, BotoCoreError, ClientError)
SCALABLE_TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"


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
            return tuple(endpoint.stack for endpoint in self.assembly.endpoints.values())
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
    def bucket(self) -> ArchiveBucket | None:
        """The bucket with the stage's archives, None before the first delivery."""
        return self.bucket_of(self.assembly.stage, self.session)

    @staticmethod
    def bucket_of(stage: str, session: boto3.Session) -> ArchiveBucket | None:
        """Return the bucket with a stage's archives; `session` is in that stage's region."""
        name = model_bucket(session.client("cloudformation"), stage)
        return ArchiveBucket(session.client("s3"), name) if name else None

    def live_template(self, endpoint: EndpointSettings) -> Template | None:
        """Return the deployed template of an endpoint's stack, None if the endpoint does not exist.

        A stack whose first deploy failed has a template and no endpoint.
        """
        if endpoint_description(self.session.client("sagemaker"), endpoint.name) is None:
            return None
        return stack_template(self.session.client("cloudformation"), endpoint.stack)

    def wait_for_operations(self) -> None:
        """Wait until no operation is in progress on a stack or an endpoint of the stage.

        Raise `NotDelivered` if CloudFormation could not roll a stack back, or if an operation takes
        longer than a deploy.
        """
        minutes = self.assembly.plan.time_budget.deploy_minutes
        deadline = time.monotonic() + 60 * minutes
        stacks = tuple(self.assembly.templates)
        names = [endpoint.name for endpoint in self.assembly.endpoints.values()]
        cloudformation = self.session.client("cloudformation")
        sagemaker = self.session.client("sagemaker")
        with raise_unfinished(still_updating_message(stacks)):
            if operations_in_progress(cloudformation, stacks):
                wait_for_endpoints(sagemaker, names, deadline=deadline)  # shows their instances
            remaining = wait_for_stacks(cloudformation, stacks, deadline=deadline)
            if stuck := stacks_with_failed_rollback(cloudformation, stacks):
                lines = [describe_stuck_rollback(cloudformation, stack) for stack in stuck]
                raise NotDelivered("\n  ".join(["Nothing was changed", *lines]))
            remaining += wait_for_endpoints(sagemaker, names, deadline=deadline)
        if remaining:
            summary = f"Nothing was changed: {minutes} minutes, the limit of a deploy, have passed"
            raise NotDelivered("\n  ".join([summary, *remaining]))

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
                stuck = stacks_with_failed_rollback(cloudformation, stacks)
            except ClientError as error:
                reason = f"may still be updating: {explain_error(error)}"
                raise Unfinished(f"the cdk CLI failed, and CloudFormation {reason}") from error
            if operations:
                reason = f"is still updating {', '.join(operations)}"
                raise Unfinished(f"the cdk CLI failed, and CloudFormation {reason}")
            if not (result.error_lines or stuck):  # it was killed
                reason = f"may have changed {', '.join(stacks)}"
                raise Unfinished(f"the cdk CLI ended without a message; CloudFormation {reason}")
            lines = [
                *result.error_lines,
                *(describe_stuck_rollback(cloudformation, stack) for stack in stuck),
            ]
            raise (RollbackFailed if stuck else NotDelivered)("\n  ".join(lines))


@dataclass(frozen=True)
class RemovedScaling:
    """Variants of an endpoint whose scaling is removed during an update.

    The stack is first changed from `live_template` to `template_without` the variants' scaling.
    """

    endpoint: EndpointSettings
    variants: tuple[str, ...]
    live_template: Template
    template_without: Template

    def __str__(self) -> str:
        return f"{self.endpoint.name}: variant {', '.join(self.variants)}"


def deploy(deployment: StageDeployment) -> None:
    """Deploy the stacks of a deployment, after operations in progress have ended.

    SageMaker does not change the instance type of a variant that is registered for scaling. A stack
    with such a change is deployed twice: first with its live template without that scaling, then
    with the new template. The new template without scaling could not be the first, because
    CloudFormation deletes resources last: the scaling would still exist during the update.

    Raise `NotDelivered` with the reasons if the old scaling was restored, `FaultyDeployment` if it
    was not; `RollbackFailed` if CloudFormation could not roll a stack back; `Unfinished` if
    CloudFormation is still working or AWS does not answer.
    """
    deployment.wait_for_operations()
    stacks = deployment.stacks
    removed: list[RemovedScaling] = []
    try:
        with raise_unfinished(still_updating_message(stacks)):
            for endpoint in deployment.assembly.endpoints.values():
                live_template = deployment.live_template(endpoint)
                if live_template and (scaling := removed_scaling(endpoint, live_template)):
                    say(f"  {scaling}: the stack is deployed twice, first without scaling")
                    removed.append(scaling)
                    _deploy_template(deployment, scaling, scaling.template_without)
            deployment.deploy(*stacks)
    except NotDelivered as error:
        try:
            messages = [_restore_scaling(deployment, scaling) for scaling in removed]
        except (*DEPLOY_ERRORS, NotDelivered) as failure:
            raise _add_scaling_warnings(removed, str(error), failure) from None
        raise NotDelivered("\n  ".join([str(error), *filter(None, messages)])) from None
    except DEPLOY_ERRORS as failure:
        if not removed:
            raise
        raise _add_scaling_warnings(removed, failure) from None


def removed_scaling(new: EndpointSettings, live_template: Template) -> RemovedScaling | None:
    """Return the scaling to remove, None if the instance type of no scaled variant changes."""
    live = EndpointSettings.of_template(live_template)
    names = tuple(scaled_variants_that_change(live, new)) if live else ()
    without = without_scaling(live_template, names)
    if without == live_template:
        return None
    return RemovedScaling(new, names, live_template, without)


def without_scaling(template: Template, variants: Collection[str]) -> Template:
    """Return a template without the scalable targets of `variants`, and their policies.

    CloudFormation refuses a template with a `DependsOn` of a missing resource (aws/aws-cdk#1568).
    """
    targets = [
        name
        for name, target in resources(template, SCALABLE_TARGET)
        if target["ResourceId"].rpartition("/")[2] in variants
    ]
    references = [{"Ref": name} for name in targets]
    remaining = {
        name: resource
        for name, resource in template["Resources"].items()
        if name not in targets
        and resource.get("Properties", {}).get("ScalingTargetId") not in references
    }
    return {
        **template,
        "Resources": {
            name: _without_missing(resource, remaining) for name, resource in remaining.items()
        },
    }


def _without_missing(resource: Any, present: Collection[str]) -> Any:
    """Return a resource without the `DependsOn` of resources that are not in `present`."""
    if "DependsOn" not in resource:
        return resource
    depends_on = resource["DependsOn"]
    names = [depends_on] if isinstance(depends_on, str) else depends_on
    if missing := [name for name in names if name not in present]:
        rest = {name: value for name, value in resource.items() if name != "DependsOn"}
        present_names = [name for name in names if name not in missing]
        return {**rest, "DependsOn": present_names} if present_names else rest
    return resource


def _restore_scaling(deployment: StageDeployment, scaling: RemovedScaling) -> str:
    """Restore the scaling of a stack that was rolled back to the template without scaling.

    Return a message. If the stack has another template, return an empty text: either the second
    deploy succeeded, or the first deploy was rolled back.
    """
    stack = scaling.endpoint.stack
    with raise_unfinished(still_updating_message([stack])):
        live_template = stack_template(deployment.session.client("cloudformation"), stack)
        if live_template != scaling.template_without:
            return ""
        _deploy_template(deployment, scaling, scaling.live_template)
    return f"{scaling} scales again, as before"


def _add_scaling_warnings(removed: list[RemovedScaling], *reasons: str | Exception) -> Exception:
    """Return an error of the last reason's type with all reasons and a warning for each variant."""
    warnings = (
        f"{scaling} may run without scaling, with its current number of instances, until the stage "
        "is delivered again"
        for scaling in removed
    )
    error = reasons[-1]
    error_type: type[DeliveryError] = FaultyDeployment
    if isinstance(error, (Unfinished, FaultyDeployment)):
        error_type = type(error)
    return error_type("\n  ".join([*map(str, reasons), *warnings]))


def _deploy_template(
    deployment: StageDeployment, scaling: RemovedScaling, template: Template
) -> None:
    stack = scaling.endpoint.stack
    with deployment.assembly.with_template(stack, template) as folder:
        deployment.deploy(stack, assembly=folder)
