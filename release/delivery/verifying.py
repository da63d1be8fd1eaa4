"""Whether what was deployed serves, and answers as it should."""

import json
import time
from pathlib import Path

from botocore.exceptions import ClientError

from endpoint_client import EndpointError
from release.delivery import smoke, under_way
from release.delivery.catalog_checks import check_after
from release.delivery.deployment import Deployment
from release.delivery.endpoint_state import what_is_wrong
from release.delivery.errors import (
    DeliveredWrong,
    EndpointGone,
    RollbackFailed,
    Unfinished,
    explained,
    unanswered,
    unfinished,
)
from release.delivery.steps import step
from release.stage_resources import catalog_entries
from release.tree import Template

VERIFY_SECONDS = 30 * 60
"""How long it is waited for endpoints that change, and until the last model is asked."""


def verify(deployment: Deployment, models: Path) -> list[str]:
    """Compare stacks, endpoints and catalog with the assembly, and answers with golden files.

    Those are in `models`; return the models without one, of which nobody knows whether they answer.
    Raises `DeliveredWrong` with everything that is wrong, `ChangedByHand` where the catalog was
    changed by hand, `Unfinished` where nobody knows.
    """
    deadline = time.monotonic() + VERIFY_SECONDS
    stage, endpoints = deployment.assembly.stage, deployment.assembly.endpoints
    try:
        with unfinished("everything is deployed, and not verified"):
            with step("every stack is complete"):
                _refuse_failed_stacks(deployment)
            with step("every endpoint serves with the configuration that was deployed"):
                _refuse_endpoint_faults(deployment, deadline)
            with step("the catalog has the commit's models"):
                check_after(deployment)
            with step("every model with a golden file answers as it should"):
                declared = {one.short_name: _versions(deployment.new(one)) for one in endpoints}
                stage_models = deployment.session, stage, endpoints, models
                answers = smoke.invoke_all(*stage_models, declared=declared, deadline=deadline)
                _refuse(answers.wrong)
    except (ClientError, EndpointError) as error:
        if isinstance(error, ClientError) or unanswered(error):
            raise Unfinished(
                f"everything is deployed, and not verified: {explained(error)}"
            ) from error
        raise DeliveredWrong(f"what was deployed cannot be verified: {error}") from error
    return answers.not_invoked


def _refuse_failed_stacks(deployment: Deployment) -> None:
    cloudformation = deployment.session.client("cloudformation")
    stacks = tuple(deployment.assembly.templates)
    under_way.wait_for_stacks(cloudformation, stacks)
    failed = under_way.not_complete(cloudformation, stacks)
    if failed:
        lines = (
            f"{stack} is {status}: aws cloudformation describe-stack-events --stack-name {stack}; "
            "when the cause is gone, deliver again"
            for stack, status in failed.items()
        )
        raise RollbackFailed("\n  ".join(lines))


def _versions(template: Template) -> dict[str, str]:
    """Return the models that a template declares, and their versions."""
    entries = map(json.loads, catalog_entries(template).values())
    return {entry["model"]: entry["version"] for entry in entries}


def _refuse_endpoint_faults(deployment: Deployment, deadline: float) -> None:
    sagemaker = deployment.session.client("sagemaker")
    cloudformation = deployment.session.client("cloudformation")
    faults = [
        fault
        for endpoint in deployment.assembly.endpoints
        if (fault := what_is_wrong(sagemaker, cloudformation, endpoint, deadline=deadline))
    ]
    lines = [fault.text for fault in faults]
    if any(fault.must_be_created for fault in faults):
        raise EndpointGone("\n  ".join(lines))
    _refuse(lines)


def _refuse(wrong: list[str]) -> None:
    if wrong:
        raise DeliveredWrong("\n  ".join(wrong))
