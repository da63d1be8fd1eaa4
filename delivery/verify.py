"""Verify a deployed stage: stacks, endpoints, catalog, and the answers of its models."""

import time
from pathlib import Path

from botocore.exceptions import ClientError

from delivery import smoke
from delivery.catalog import check_catalog_after
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
from endpoint_client import EndpointError

VERIFY_SECONDS = 30 * 60
"""The time limit for updates to end and for all models to be invoked."""
NOT_VERIFIED = "everything is deployed, but not verified"


def verify(deployment: StageDeployment, models: Path) -> list[str]:
    """Compare stacks, endpoints and catalog with the assembly, and answers with golden files.

    Golden files are in the folder `models`. Return the models without a golden file, which are not
    invoked. Raise `FaultyDeployment` with all faults, `ChangedByHand` if the catalog was changed by
    hand, `Unfinished` if AWS does not answer.
    """
    deadline = time.monotonic() + VERIFY_SECONDS
    assembly = deployment.assembly
    try:
        with raise_unfinished(NOT_VERIFIED):
            with step("every stack is complete"):
                _refuse_failed_stacks(deployment)
            with step("every endpoint serves with the deployed configuration"):
                _refuse_endpoint_faults(deployment, deadline)
            with step("the catalog has the commit's models"):
                check_catalog_after(deployment)
            with step("every model with a golden file gives the expected answer"):
                result = smoke.invoke_all(
                    deployment.session,
                    assembly.stage,
                    assembly.versions,
                    models,
                    component_endpoints={
                        name
                        for name, endpoint in assembly.endpoints.items()
                        if endpoint.hosting == "components"
                    },
                    deadline=deadline,
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
    return result.uninvoked_models


def _refuse_failed_stacks(deployment: StageDeployment) -> None:
    cloudformation = deployment.session.client("cloudformation")
    stacks = deployment.stacks
    wait_for_stacks(cloudformation, stacks)
    if statuses := incomplete_stacks(cloudformation, stacks):
        lines = (
            f"{stack} is {status}: aws cloudformation describe-stack-events --stack-name {stack}; "
            "remove the cause, and deliver again"
            for stack, status in statuses.items()
        )
        raise RollbackFailed("\n  ".join(lines))


def _refuse_endpoint_faults(deployment: StageDeployment, deadline: float) -> None:
    sagemaker = deployment.session.client("sagemaker")
    cloudformation = deployment.session.client("cloudformation")
    templates = deployment.assembly.templates
    results = [
        endpoint_fault(
            sagemaker, cloudformation, endpoint, templates[endpoint.stack], deadline=deadline
        )
        for endpoint in deployment.assembly.endpoints.values()
    ]
    if faults := list(filter(None, results)):
        must_be_recreated = any(fault.must_be_recreated for fault in faults)
        error_type = EndpointLost if must_be_recreated else FaultyDeployment
        raise error_type("\n  ".join(fault.text for fault in faults))
