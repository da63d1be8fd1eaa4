"""Tests of the state of an endpoint, with stubbed clients."""

import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from release.delivery import endpoint_state, steps
from release.delivery.endpoint_state import EndpointFault, endpoint_fault
from release.delivery.errors import Unfinished
from release.stack_endpoints import StackEndpoint

ENDPOINT = StackEndpoint(name="prod-text", short_name="text", stack="prod-text", config="Config")
PENDING = {"EndpointConfigName": "Config-New"}
ARN = "arn:aws:sagemaker:us-east-1:123456789012:endpoint-config/config-new"


class FakeAws:
    """Stubbed clients of SageMaker and CloudFormation."""

    def __init__(self) -> None:
        session = boto3.Session("key", "secret", region_name="us-east-1")
        self.sagemaker = session.client("sagemaker")
        self.cloudformation = session.client("cloudformation")
        self.sagemaker_stub = Stubber(self.sagemaker)
        self.cloudformation_stub = Stubber(self.cloudformation)
        self.deadline = math.inf

    def add_endpoint(self, status: str, **changes: Any) -> None:
        now = datetime.now(UTC)
        description = {
            "EndpointName": "prod-text",
            "EndpointArn": "arn:aws:sagemaker:us-east-1:123456789012:endpoint/prod-text",
            "EndpointConfigName": "Config-New",
            "EndpointStatus": status,
            "CreationTime": now,
            "LastModifiedTime": now,
        }
        self.sagemaker_stub.add_response(
            "describe_endpoint", {**description, **changes}, {"EndpointName": "prod-text"}
        )

    def add_endpoint_twice(self, status: str, **changes: Any) -> None:
        """Add an answer for the wait, and one for the comparison."""
        for _ in range(2):
            self.add_endpoint(status, **changes)

    def add_config(self, physical_id: str) -> None:
        detail = {
            "LogicalResourceId": "Config",
            "PhysicalResourceId": physical_id,
            "ResourceType": "AWS::SageMaker::EndpointConfig",
            "LastUpdatedTimestamp": datetime.now(UTC),
            "ResourceStatus": "UPDATE_COMPLETE",
        }
        self.cloudformation_stub.add_response(
            "describe_stack_resource",
            {"StackResourceDetail": detail},
            {"StackName": "prod-text", "LogicalResourceId": "Config"},
        )

    def fault(self) -> EndpointFault | None:
        with self.sagemaker_stub, self.cloudformation_stub:
            return endpoint_fault(
                self.sagemaker, self.cloudformation, ENDPOINT, deadline=self.deadline
            )


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeAws]:
    monkeypatch.setattr(steps, "POLL_SECONDS", 0)
    aws = FakeAws()
    yield aws
    aws.sagemaker_stub.assert_no_pending_responses()
    aws.cloudformation_stub.assert_no_pending_responses()


def test_endpoint_with_the_deployed_configuration_has_no_fault(aws: FakeAws) -> None:
    aws.add_endpoint_twice("InService")
    aws.add_config(ARN)
    assert aws.fault() is None


def test_update_in_progress_is_awaited_and_reported_once(
    aws: FakeAws, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        aws.add_endpoint("Updating", PendingDeploymentSummary=PENDING)
    aws.add_endpoint_twice("InService")
    aws.add_config(ARN)
    assert aws.fault() is None
    assert capsys.readouterr().out == "  waiting for prod-text: Updating\n"


@pytest.mark.parametrize("status", ["Updating", "RollingBack"])
def test_endpoint_that_scales_is_not_awaited(aws: FakeAws, status: str) -> None:
    aws.add_endpoint_twice(status)
    aws.add_config(ARN)
    assert aws.fault() is None


def test_rolled_back_update_is_a_fault(aws: FakeAws) -> None:
    aws.add_endpoint_twice(
        "InService", EndpointConfigName="Config-Old", FailureReason="alarm went off"
    )
    aws.add_config(ARN)
    fault = aws.fault()
    assert fault
    assert not fault.must_be_recreated
    assert fault.text == (
        "prod-text was rolled back although its deploy succeeded: it serves with Config-Old, but "
        'prod-text created config-new: alarm went off. See docs/runbook.md, "An update was rolled '
        'back in silence"'
    )


def test_update_beyond_the_deadline_is_unfinished(aws: FakeAws) -> None:
    aws.deadline = 0
    aws.add_endpoint("Updating", PendingDeploymentSummary=PENDING)
    with pytest.raises(Unfinished, match="prod-text is still Updating"):
        aws.fault()


@pytest.mark.parametrize(
    ("status", "text"),
    [
        ("Failed", "SageMaker can only delete it: no capacity. It cannot be invoked"),
        (None, "does not exist: it was deleted"),
    ],
)
def test_failed_or_deleted_endpoint_must_be_recreated(
    aws: FakeAws, status: str | None, text: str
) -> None:
    """A rollback would fail too, because SageMaker does not update such an endpoint."""
    if status:
        aws.add_endpoint_twice(status, FailureReason="no capacity")
    else:
        for _ in range(2):
            stub = aws.sagemaker_stub
            stub.add_client_error("describe_endpoint", "ValidationException", "No such")
    fault = aws.fault()
    assert fault
    assert fault.must_be_recreated
    assert text in fault.text
    assert "aws cloudformation delete-stack --stack-name prod-text; " in fault.text


@pytest.mark.parametrize("status", ["Updating", "SystemUpdating", "Creating"])
def test_changing_endpoint_is_awaited(aws: FakeAws, status: str) -> None:
    for value in (status, "InService"):
        aws.add_endpoint(value)
    with aws.sagemaker_stub:
        endpoint_state.wait_for_endpoints(aws.sagemaker, ["prod-text"])
