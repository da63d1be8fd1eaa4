"""Tests of the state of an endpoint, with fake clients."""

import math
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from delivery import drift, steps
from delivery.errors import NO_CAPACITY, Unfinished
from delivery.state import GONE_RUNBOOK, EndpointFault, endpoint_fault, wait_for_endpoints
from plan.document import ENDPOINT_KEY
from tests.unit.plan.plans import make_endpoint

ENDPOINT = make_endpoint().settings
TEMPLATE = {"Resources": {"Config": {"Type": "AWS::SageMaker::EndpointConfig"}}}
PENDING = {"EndpointConfigName": "Config-New"}
ARN = "arn:aws:sagemaker:us-east-1:123456789012:endpoint-config/config-new"


class FakeAws:
    """Clients of SageMaker and CloudFormation; `descriptions` has the next answers.

    Without a description, the endpoint does not exist.
    """

    def __init__(self) -> None:
        self.descriptions: list[dict[str, Any]] = []

    def add_endpoint(self, status: str, *, answers: int = 1, **changes: Any) -> None:
        description = {"EndpointConfigName": "Config-New", "EndpointStatus": status, **changes}
        self.descriptions += [description] * answers

    def describe_endpoint(self, *, EndpointName: str) -> dict[str, Any]:  # noqa: N803
        assert EndpointName == "prod-text"
        if not self.descriptions:
            raise ClientError({"Error": {"Code": "ValidationException"}}, "DescribeEndpoint")
        return self.descriptions.pop(0)

    def describe_stack_resource(self, **request: str) -> dict[str, Any]:
        assert request == {"StackName": "prod-text", "LogicalResourceId": "Config"}
        return {"StackResourceDetail": {"PhysicalResourceId": ARN}}

    def fault(self, *, deadline: float = math.inf) -> EndpointFault | None:
        client: Any = self
        fault = endpoint_fault(client, client, ENDPOINT, TEMPLATE, deadline=deadline)
        assert self.descriptions == []
        return fault


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> FakeAws:
    monkeypatch.setattr(steps, "POLL_SECONDS", 0)
    return FakeAws()


def test_update_in_progress_is_awaited_and_reported_once(
    aws: FakeAws, capsys: pytest.CaptureFixture[str]
) -> None:
    aws.add_endpoint("Updating", answers=2, PendingDeploymentSummary=PENDING)
    aws.add_endpoint("InService", answers=2)
    assert aws.fault() is None
    assert capsys.readouterr().out == "  waiting for prod-text: Updating\n"


@pytest.mark.parametrize(
    ("reason", "text"), [("", "if that lasts"), (f"{NO_CAPACITY} error.", "AWS had no capacity")]
)
def test_wait_for_scaling_names_missing_instances(
    aws: FakeAws, capsys: pytest.CaptureFixture[str], reason: str, text: str
) -> None:
    variant = {"VariantName": "A", "CurrentInstanceCount": 1, "DesiredInstanceCount": 2}
    aws.add_endpoint("Updating", ProductionVariants=[variant], FailureReason=reason)
    aws.add_endpoint("InService", ProductionVariants=[variant], FailureReason=reason)
    client: Any = aws
    assert wait_for_endpoints(client, ["prod-text"], deadline=math.inf) == []
    section = 'docs/runbook.md, "AWS has no capacity"'
    status = f"Updating (A has 1 of 2 instances; {text}: {section})"
    assert capsys.readouterr().out == f"  waiting for prod-text: {status}\n"


@pytest.mark.parametrize("status", ["Updating", "RollingBack"])
def test_endpoint_that_scales_is_not_awaited(aws: FakeAws, status: str) -> None:
    aws.add_endpoint(status, answers=2)
    assert aws.fault() is None


def test_update_beyond_the_deadline_is_unfinished(aws: FakeAws) -> None:
    aws.add_endpoint("Updating", PendingDeploymentSummary=PENDING)
    with pytest.raises(Unfinished, match="prod-text is still Updating"):
        aws.fault(deadline=0)


def test_rolled_back_update_is_a_fault(aws: FakeAws) -> None:
    aws.add_endpoint(
        "InService", answers=2, EndpointConfigName="Config-Old", FailureReason="alarm went off"
    )
    fault = aws.fault()
    assert fault
    assert not fault.must_be_recreated
    assert fault.predicate.startswith("was rolled back although its deploy succeeded")


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ("Failed", "SageMaker can only delete it: no capacity"),
        (None, "does not exist: it was deleted"),
    ],
)
def test_failed_or_deleted_endpoint_must_be_recreated(
    aws: FakeAws, status: str | None, text: str
) -> None:
    """A rollback would fail too, because SageMaker does not update such an endpoint."""
    if status:
        aws.add_endpoint(status, answers=2, FailureReason="no capacity")
    fault = aws.fault()
    assert fault
    assert fault.must_be_recreated
    assert text in fault.predicate


def test_status_of_a_deleted_endpoint_names_the_section_that_recreates_it(
    aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its description cannot be read."""
    monkeypatch.setattr(drift, "catalog_differences", lambda *_: [])
    session: Any = SimpleNamespace(client=lambda _: aws)
    template = {**TEMPLATE, "Metadata": {ENDPOINT_KEY: ENDPOINT.model_dump(mode="json")}}
    (difference,) = drift._endpoint_differences(session, "prod", "prod-text", template, None)
    assert difference.text == "does not exist: it was deleted"
    assert difference.command == GONE_RUNBOOK
