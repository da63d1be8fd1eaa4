"""Verify a deployed stage: stacks, endpoints, catalog, and the answers of its models."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from botocore.exceptions import ClientError

from delivery import smoke
from delivery.aws import stack_template
from delivery.catalog import describe_unbuilt, restore_catalog_after_deploy, unbuilt_models
from delivery.deploy import StageDeployment
from delivery.drift import manual_changes
from delivery.errors import (
    EndpointLost,
    FaultyDeployment,
    RollbackFailed,
    Unfinished,
    explain_error,
    is_caller_error,
    raise_unfinished,
)
from delivery.state import endpoint_fault, incomplete_stacks, wait_for_stacks
from delivery.steps import say, step
from delivery.store import redelivery
from endpoint_client import EndpointError
from plan.document import EndpointSettings
from release.templates import Template

VERIFY_SECONDS = 30 * 60
"""The time limit for updates to end and for all models to be invoked, with default timeouts."""
NOT_VERIFIED = "everything is deployed, but not verified"


class VerifiedStage(NamedTuple):
    """The models without a golden file, and a sentence for each that could not be built."""

    uninvoked_models: list[str]
    unbuilt_models: list[str]


def verify(deployment: StageDeployment, models: Path) -> VerifiedStage:
    """Compare stacks, endpoints and catalog with the assembly, and answers with golden files.

    Golden files are in the folder `models`. Raise `FaultyDeployment` with all faults,
    `ChangedByHand` if the catalog was changed by hand, `Unfinished` if AWS does not answer.
    """
    assembly = deployment.assembly
    longer_wakes = (endpoint.longer_wake_seconds for endpoint in assembly.endpoints.values())
    longer_wake = max(longer_wakes, default=0)
    deadline = time.monotonic() + VERIFY_SECONDS + longer_wake
    try:
        with raise_unfinished(NOT_VERIFIED):
            with step("every stack is complete"):
                _refuse_failed_stacks(deployment, deadline)
                _refuse_other_templates(deployment)
            with step("every endpoint serves with the deployed configuration"):
                _refuse_endpoint_faults(deployment, deadline)
            with step("the catalog has the commit's models"):
                unbuilt = unbuilt_models(assembly.plan, deployment.bucket)
                restore_catalog_after_deploy(deployment, unbuilt)
                sentences = describe_unbuilt(deployment.session, assembly.plan, unbuilt)
            with step("every model with a golden file gives the expected answer"):
                result = smoke.invoke_all(
                    deployment.session,
                    assembly.stage,
                    {
                        endpoint: {
                            model: version
                            for model, version in versions.items()
                            if model not in unbuilt.get(endpoint, ())
                        }
                        for endpoint, versions in assembly.versions.items()
                    },
                    models,
                    component_endpoints={
                        name
                        for name, endpoint in assembly.endpoints.items()
                        if endpoint.hosting == "components"
                    },
                    deadline=deadline,
                    wake_seconds=smoke.WAKE_SECONDS + longer_wake,
                )
                if result.wrong_answers:
                    raise FaultyDeployment("\n  ".join(result.wrong_answers))
            for stack, template in assembly.templates.items():
                for change in manual_changes(deployment.session, stack, template):
                    say(f"! {change.subject}: {change.text}: {change.command}")
    except (ClientError, EndpointError) as error:
        if isinstance(error, ClientError) or is_caller_error(error):
            raise Unfinished(f"{NOT_VERIFIED}: {explain_error(error)}") from error
        raise FaultyDeployment(f"the deployed stage cannot be verified: {error}") from error
    return VerifiedStage(result.uninvoked_models, sentences)


def _refuse_failed_stacks(deployment: StageDeployment, deadline: float) -> None:
    cloudformation = deployment.session.client("cloudformation")
    stacks = deployment.stacks
    if remaining := wait_for_stacks(cloudformation, stacks, deadline=deadline):
        raise Unfinished(
            "\n  ".join([f"{NOT_VERIFIED}, and the time limit has passed", *remaining])
        )
    if statuses := incomplete_stacks(cloudformation, stacks):
        lines = (
            f"{stack} is {status}: aws cloudformation describe-stack-events --stack-name {stack}; "
            f"remove the cause, then: {redelivery(deployment.assembly.stage)}"
            for stack, status in statuses.items()
        )
        raise RollbackFailed("\n  ".join(lines))


def _refuse_other_templates(deployment: StageDeployment) -> None:
    """Raise `FaultyDeployment` if CloudFormation has other resources than the release.

    The cdk CLI does not upload a template whose key exists in the bucket of assets: who may write
    there can put another template under the key beforehand. Attributes such as `DeletionPolicy`
    are not compared, because CloudFormation ignores a change of them alone.
    """
    cloudformation = deployment.session.client("cloudformation")

    def is_deployed(stack: str) -> bool:
        try:
            live = stack_template(cloudformation, stack)
        except ValueError:  # not JSON
            return False
        return _properties(live) == _properties(deployment.assembly.templates[stack])

    if others := [stack for stack in deployment.stacks if not is_deployed(stack)]:
        raise FaultyDeployment(
            f"{', '.join(others)}: the deployed template is not that of the release. Somebody may "
            "have replaced it in the bucket of assets of `cdk bootstrap`: aws cloudformation "
            f"get-template --stack-name {others[0]}"
        )


def _properties(template: Template | None) -> dict[str, Any]:
    return {
        name: (resource["Type"], resource.get("Properties", {}))
        for name, resource in (template or {}).get("Resources", {}).items()
    }


def _refuse_endpoint_faults(deployment: StageDeployment, deadline: float) -> None:
    sagemaker = deployment.session.client("sagemaker")
    cloudformation = deployment.session.client("cloudformation")
    templates = deployment.assembly.templates
    lines, lost = list[str](), list[EndpointSettings]()
    for endpoint in deployment.assembly.endpoints.values():
        template = templates[endpoint.stack]
        fault = endpoint_fault(sagemaker, cloudformation, endpoint, template, deadline=deadline)
        if fault:
            section = f". See {fault.runbook}" if fault.runbook else ""
            lines.append(f"{endpoint.name} {fault.predicate}{section}")
            if fault.must_be_recreated:
                lost.append(endpoint)
    if lost:
        raise EndpointLost("\n  ".join([*lines, *_recreation(deployment.assembly.stage, lost)]))
    if lines:
        raise FaultyDeployment("\n  ".join(lines))


def _recreation(stage: str, lost: list[EndpointSettings]) -> Iterator[str]:
    """Yield the commands that look at the stage, then those that create endpoints again."""
    yield "Calls fail until the stack creates the endpoint again. Look, which changes nothing:"
    yield f"  tritonsm status {stage}"
    yield "Then delete the stack, with its alarms:"
    for stack in dict.fromkeys(endpoint.stack for endpoint in lost):
        yield f"  aws cloudformation delete-stack --stack-name {stack}"
        yield f"  aws cloudformation wait stack-delete-complete --stack-name {stack}"
    yield "Then create it:"
    yield f"  {redelivery(stage)}"
