import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from release.delivery import endpoint_state, steps
from release.delivery.endpoint_state import EndpointFault, endpoint_fault
from release.delivery.errors import Unfinished
from release.stack_endpoints import StackEndpoint

ENDPOINT = StackEndpoint(name="prod-text", short_name="text", stack="prod-text", config="Config")
PENDING = {"EndpointConfigName": "Config-New"}
ARN = "arn:aws:sagemaker:us-east-1:123456789012:endpoint-config/config-new"


class Aws:
    """SageMaker and CloudFormation, which answer as they are told."""

    def __init__(self) -> None:
        session = boto3.Session("key", "secret", region_name="us-east-1")
        self.sagemaker = session.client("sagemaker")
        self.cloudformation = session.client("cloudformation")
        self.of_sagemaker = Stubber(self.sagemaker)
        self.of_cloudformation = Stubber(self.cloudformation)
        self.deadline = math.inf

    def endpoint_is(self, status: str, **changes: Any) -> None:
        now = datetime.now(UTC)
        answer = {
            "EndpointName": "prod-text",
            "EndpointArn": "arn:aws:sagemaker:us-east-1:123456789012:endpoint/prod-text",
            "EndpointConfigName": "Config-New",
            "EndpointStatus": status,
            "CreationTime": now,
            "LastModifiedTime": now,
        }
        self.of_sagemaker.add_response(
            "describe_endpoint", {**answer, **changes}, {"EndpointName": "prod-text"}
        )

    def endpoint_stays(self, status: str, **changes: Any) -> None:
        """Answer so while it is waited for, and once more."""
        for _ in range(2):
            self.endpoint_is(status, **changes)

    def config_is(self, physical_id: str) -> None:
        detail = {
            "LogicalResourceId": "Config",
            "PhysicalResourceId": physical_id,
            "ResourceType": "AWS::SageMaker::EndpointConfig",
            "LastUpdatedTimestamp": datetime.now(UTC),
            "ResourceStatus": "UPDATE_COMPLETE",
        }
        self.of_cloudformation.add_response(
            "describe_stack_resource",
            {"StackResourceDetail": detail},
            {"StackName": "prod-text", "LogicalResourceId": "Config"},
        )

    def fault(self) -> EndpointFault | None:
        with self.of_sagemaker, self.of_cloudformation:
            return endpoint_fault(
                self.sagemaker, self.cloudformation, ENDPOINT, deadline=self.deadline
            )


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    monkeypatch.setattr(steps, "POLL_SECONDS", 0)
    aws = Aws()
    yield aws
    aws.of_sagemaker.assert_no_pending_responses()
    aws.of_cloudformation.assert_no_pending_responses()


def test_an_endpoint_with_the_deployed_configuration_is_right(aws: Aws) -> None:
    aws.endpoint_stays("InService")
    aws.config_is(ARN)
    assert aws.fault() is None


def test_an_update_under_way_is_waited_for_and_said_once(
    aws: Aws, capsys: pytest.CaptureFixture[str]
) -> None:
    for _ in range(2):
        aws.endpoint_is("Updating", PendingDeploymentSummary=PENDING)
    aws.endpoint_stays("InService")
    aws.config_is(ARN)
    assert aws.fault() is None
    assert capsys.readouterr().out == "  waiting for prod-text: Updating\n"


@pytest.mark.parametrize("status", ["Updating", "RollingBack"])
def test_an_endpoint_that_scales_is_not_waited_for(aws: Aws, status: str) -> None:
    aws.endpoint_stays(status)
    aws.config_is(ARN)
    assert aws.fault() is None


def test_an_update_that_was_rolled_back_in_silence_is_wrong(aws: Aws) -> None:
    aws.endpoint_stays("InService", EndpointConfigName="Config-Old", FailureReason="alarm went off")
    aws.config_is(ARN)
    fault = aws.fault()
    assert fault
    assert not fault.must_be_created
    assert fault.text == (
        "prod-text was rolled back although its deploy succeeded: it serves with Config-Old, and "
        'prod-text made config-new: alarm went off. See docs/runbook.md, "An update was rolled '
        'back in silence"'
    )


def test_a_failed_endpoint_is_not_to_be_rolled_back(aws: Aws) -> None:
    """SageMaker updates none: `make rollback`, which was advised, fails as well."""
    aws.endpoint_stays("Failed", FailureReason="no capacity")
    fault = aws.fault()
    assert fault
    assert fault.must_be_created
    assert "SageMaker can only delete it: no capacity. No call is answered" in fault.text


def test_of_an_update_that_does_not_end_nobody_knows_whether_it_is_wrong(aws: Aws) -> None:
    aws.deadline = 0
    aws.endpoint_is("Updating", PendingDeploymentSummary=PENDING)
    with pytest.raises(Unfinished, match="prod-text is Updating for too long"):
        aws.fault()


def test_credentials_that_have_expired_say_nothing_of_an_endpoint(aws: Aws) -> None:
    aws.of_sagemaker.add_client_error("describe_endpoint", "ExpiredTokenException", "expired")
    with pytest.raises(ClientError, match="ExpiredTokenException"):
        aws.fault()


def test_an_endpoint_that_is_not_there_is_created_again_with_its_stack(aws: Aws) -> None:
    for _ in range(2):
        aws.of_sagemaker.add_client_error("describe_endpoint", "ValidationException", "No such")
    fault = aws.fault()
    assert fault
    assert fault.must_be_created
    assert "aws cloudformation delete-stack --stack-name prod-text; " in fault.text


def test_what_a_caller_may_not_ask_says_nothing_of_an_endpoint(aws: Aws) -> None:
    """It was said to be deployed and wrong, and `make rollback` to be the way back."""
    aws.of_sagemaker.add_client_error("describe_endpoint", "AccessDeniedException")
    with pytest.raises(ClientError, match="AccessDenied"):
        aws.fault()


@pytest.mark.parametrize("status", ["Updating", "SystemUpdating", "RollingBack", "Creating"])
def test_an_endpoint_that_changes_is_waited_for(aws: Aws, status: str) -> None:
    for each in (status, "InService"):
        aws.endpoint_is(each)
    with aws.of_sagemaker:
        endpoint_state.wait_for_endpoints(aws.sagemaker, ["prod-text"])


def test_an_endpoint_that_is_not_there_is_not_waited_for(aws: Aws) -> None:
    aws.of_sagemaker.add_client_error("describe_endpoint", "ValidationException", "No such")
    with aws.of_sagemaker:
        endpoint_state.wait_for_endpoints(aws.sagemaker, ["prod-text"])
