"""What was deployed is wrong only where that is known."""

from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import EndpointConnectionError

from endpoint_client import EndpointError
from release.delivery import smoke
from release.delivery.deployment import Deployment
from release.delivery.errors import DeliveredWrong, RollbackFailed, Unfinished
from release.delivery.verifying import verify
from tests.unit.release.delivery.fakes import EXPIRED, FakeAws


@pytest.mark.parametrize(
    ("error", "ends"),
    [
        (EXPIRED, Unfinished),
        (KeyboardInterrupt(), Unfinished),
        (EndpointConnectionError(endpoint_url="sagemaker"), Unfinished),
        (EndpointError("the catalog is empty"), DeliveredWrong),
    ],
    ids=["expired", "interrupted", "no network", "catalog"],
)
def test_what_was_deployed_is_wrong_only_where_that_is_known(
    error: BaseException,
    ends: type[Exception],
    delivered: Deployment,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_: Any, **__: Any) -> list[str]:
        raise error

    monkeypatch.setattr(smoke, "wrong_answers", fail)
    with pytest.raises(ends, match="deployed"):
        verify(delivered, Path("models"))


@pytest.mark.parametrize(
    ("status", "command"),
    [
        ("UPDATE_ROLLBACK_FAILED", "continue-update-rollback --stack-name prod-"),
        ("UPDATE_FAILED", "describe-stack-events --stack-name prod-"),
    ],
)
def test_a_stack_in_a_failed_state_is_not_delivered(
    status: str, command: str, aws: FakeAws, delivered: Deployment
) -> None:
    """The cdk CLI skips a stack that has the wanted template, whatever its status."""
    aws.statuses = ["UPDATE_COMPLETE"] * len(delivered.assembly.templates) + [status]
    with pytest.raises(RollbackFailed, match=f"is {status}: .*aws cloudformation {command}"):
        verify(delivered, Path("models"))
