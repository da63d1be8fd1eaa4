from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from release.delivery.stuck_rollback import StuckRollback, stuck_rollback
from release.stage_resources import StackEndpoint

TEXT = StackEndpoint("prod-text", "text", "prod-text", "Config1")
ARN = "arn:aws:sagemaker:us-east-1:123456789012:endpoint-config/config1-abc"
CONTINUE = "aws cloudformation continue-update-rollback --stack-name prod-text"
WAIT = "aws cloudformation wait stack-rollback-complete --stack-name prod-text"


def event(resource: str, kind: str, status: str, reason: str = "") -> dict[str, Any]:
    return {
        "StackId": "prod-text",
        "StackName": "prod-text",
        "EventId": resource + status,
        "LogicalResourceId": resource,
        "ResourceType": kind,
        "ResourceStatus": status,
        "ResourceStatusReason": reason,
        "Timestamp": datetime.now(UTC),
    }


ROLLBACK = event("prod-text", "AWS::CloudFormation::Stack", "UPDATE_ROLLBACK_IN_PROGRESS")
FORWARD = event("Entry", "AWS::SSM::Parameter", "UPDATE_FAILED", "It exists")
CHECK = event("Check1", "Custom::TritonUpdateCheck", "UPDATE_FAILED", "Rolled back. More")
TARGET = event("Target1", "AWS::ApplicationAutoScaling::ScalableTarget", "UPDATE_FAILED", "No")


def stuck(serves: str | None, *events: dict[str, Any]) -> StuckRollback:
    """Return what is read where the endpoint serves with a configuration, or is gone."""
    session = boto3.Session("key", "secret", region_name="us-east-1")
    cloudformation, sagemaker = session.client("cloudformation"), session.client("sagemaker")
    formation, maker = Stubber(cloudformation), Stubber(sagemaker)
    resource = {
        "LogicalResourceId": "Config1",
        "ResourceType": "AWS::SageMaker::EndpointConfig",
        "ResourceStatus": "UPDATE_COMPLETE",
        "LastUpdatedTimestamp": datetime.now(UTC),
        "PhysicalResourceId": ARN,
    }
    formation.add_response("describe_stack_resource", {"StackResourceDetail": resource})
    formation.add_response("describe_stack_events", {"StackEvents": list(events)})
    if serves is None:
        maker.add_client_error("describe_endpoint", "ValidationException")
    else:
        described: dict[str, Any] = {
            "EndpointName": "prod-text",
            "EndpointArn": "arn:aws:sagemaker:us-east-1:123456789012:endpoint/prod-text",
            "EndpointConfigName": serves,
            "EndpointStatus": "InService",
            "CreationTime": datetime.now(UTC),
            "LastModifiedTime": datetime.now(UTC),
        }
        maker.add_response("describe_endpoint", described)
    with formation, maker:
        return stuck_rollback(cloudformation, sagemaker, "prod-text", TEXT)


def test_an_endpoint_that_serves_the_new_configuration_is_brought_back_first() -> None:
    lookup, update, wait, *rest = stuck("Config2-Def", CHECK, ROLLBACK, FORWARD).commands()
    assert f"?EndpointConfigArn=='{ARN}'" in lookup
    assert "--endpoint-name prod-text --endpoint-config-name $CONFIG" in update
    assert wait == "aws sagemaker wait endpoint-in-service --endpoint-name prod-text"
    assert rest == [CONTINUE, WAIT]


@pytest.mark.parametrize("serves", ["Config1-Abc", None])
def test_an_endpoint_that_is_back_or_gone_is_left_alone(serves: str | None) -> None:
    assert [*stuck(serves, CHECK, ROLLBACK).commands()] == [CONTINUE, WAIT]


def test_what_is_skipped_failed_in_the_last_try_of_the_rollback_and_not_before() -> None:
    again = stuck("Config1-Abc", CHECK, ROLLBACK, TARGET, CHECK, ROLLBACK, FORWARD)
    assert next(again.commands_that_skip()) == f"{CONTINUE} --resources-to-skip Check1"


def test_of_other_resources_that_are_skipped_the_message_says_to_restore_them() -> None:
    text = str(stuck("Config1-Abc", TARGET, CHECK, ROLLBACK, FORWARD))
    assert "Check1 failed: Rolled back\n" in text
    assert f"{CONTINUE} --resources-to-skip Check1 Target1\n" in text
    assert "restore Target1, which" in text
    assert "restore" not in str(stuck("Config1-Abc", CHECK, ROLLBACK))
