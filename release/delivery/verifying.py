"""Whether what was deployed serves, and answers as it should."""

import time
from pathlib import Path

from botocore.exceptions import ClientError

from endpoint_client import EndpointError
from release.delivery import smoke
from release.delivery.deployment import Deployment
from release.delivery.endpoint_state import what_is_wrong
from release.delivery.errors import DeliveredWrong
from release.delivery.steps import step
from release.delivery.unfinished import unfinished

VERIFY_SECONDS = 30 * 60
"""How long it is waited for endpoints that change, and until the last model is asked."""


def verify(deployment: Deployment, models: Path) -> None:
    """Compare endpoints with the assembly, and answers with the golden files in `models`.

    Raises `DeliveredWrong` with everything that is wrong, `Unfinished` where nobody knows.
    """
    deadline = time.monotonic() + VERIFY_SECONDS
    stage, endpoints = deployment.assembly.stage, deployment.assembly.endpoints
    try:
        with unfinished("everything is deployed, and not verified"):
            with step("every endpoint serves with the configuration that was deployed"):
                _refuse(_endpoint_faults(deployment, deadline))
            with step("every model answers as it should"):
                asked = deployment.session, stage, endpoints, models
                _refuse(smoke.wrong_answers(*asked, deadline=deadline))
    except (ClientError, EndpointError) as error:
        raise DeliveredWrong(f"what was deployed cannot be verified: {error}") from error


def _endpoint_faults(deployment: Deployment, deadline: float) -> list[str]:
    sagemaker = deployment.session.client("sagemaker")
    cloudformation = deployment.session.client("cloudformation")
    found = [
        what_is_wrong(sagemaker, cloudformation, endpoint, deadline=deadline)
        for endpoint in deployment.assembly.endpoints
    ]
    return [it for it in found if it]


def _refuse(wrong: list[str]) -> None:
    if wrong:
        raise DeliveredWrong("\n  ".join(wrong))
