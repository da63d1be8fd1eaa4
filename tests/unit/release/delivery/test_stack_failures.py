from datetime import UTC, datetime
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber
from mypy_boto3_cloudformation import CloudFormationClient

from release.delivery.stack_failures import newest_events, reasons_since, useful


@pytest.fixture
def cloudformation() -> CloudFormationClient:
    session = boto3.Session("key", "secret", region_name="us-east-1")
    return session.client("cloudformation")


@pytest.fixture
def stubbed(cloudformation: CloudFormationClient) -> Stubber:
    return Stubber(cloudformation)


def event(number: int, resource: str, status: str, reason: str = "") -> dict[str, Any]:
    return {
        "StackId": "prod-text",
        "StackName": "prod-text",
        "EventId": str(number),
        "LogicalResourceId": resource,
        "ResourceStatus": status,
        "ResourceStatusReason": reason,
        "Timestamp": datetime.now(UTC),
    }


def answer(stubbed: Stubber, *events: dict[str, Any]) -> None:
    stubbed.add_response("describe_stack_events", {"StackEvents": list(events)})


def absent(stubbed: Stubber) -> None:
    stubbed.add_client_error("describe_stack_events", "ValidationError", "does not exist")


def test_a_stack_that_does_not_exist_has_no_newest_event(
    cloudformation: CloudFormationClient, stubbed: Stubber
) -> None:
    absent(stubbed)
    answer(stubbed, event(2, "b", "UPDATE_COMPLETE"), event(1, "a", "UPDATE_COMPLETE"))
    with stubbed:
        assert newest_events(cloudformation, ["new", "prod-text"]) == {"new": "", "prod-text": "2"}


def test_reasons_are_those_of_this_deploy_in_their_order(
    cloudformation: CloudFormationClient, stubbed: Stubber
) -> None:
    answer(
        stubbed,
        event(5, "prod-text", "UPDATE_ROLLBACK_COMPLETE"),
        event(4, "c", "UPDATE_FAILED", "Resource update cancelled"),
        event(3, "b", "UPDATE_FAILED", "second\n\n    at framework.js:2:6 (RequestId: a)"),
        event(2, "a", "CREATE_FAILED", "first"),
        event(1, "a", "UPDATE_FAILED", "of last week"),
    )
    with stubbed:
        assert reasons_since(cloudformation, {"prod-text": "1"}) == [
            "prod-text, a: first",
            "prod-text, b: second",
        ]


def test_a_stack_that_was_never_made_has_no_reasons(
    cloudformation: CloudFormationClient, stubbed: Stubber
) -> None:
    absent(stubbed)
    with stubbed:
        assert reasons_since(cloudformation, {"prod-text": ""}) == []


def test_what_cloudformation_refuses_otherwise_is_raised(
    cloudformation: CloudFormationClient, stubbed: Stubber
) -> None:
    for _ in range(2):
        stubbed.add_client_error("describe_stack_events", "AccessDenied", "no")
    with stubbed:
        with pytest.raises(cloudformation.exceptions.ClientError, match="AccessDenied"):
            newest_events(cloudformation, ["prod-text"])
        with pytest.raises(cloudformation.exceptions.ClientError, match="AccessDenied"):
            reasons_since(cloudformation, {"prod-text": ""})


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ("Invalid request (RequestId: a-1)", "Invalid request"),
        (
            "Received response status [FAILED] from custom resource. Message returned: Error: no"
            "\n\nLogs: /aws/lambda/f\n\n    at f (/var/task/framework.js:2:6)\n (RequestId: a-1)",
            "no",
        ),
        ("It is in a state\n that ends", "It is in a state that ends"),
        ("", ""),
    ],
)
def test_a_reason_has_neither_stack_trace_nor_request_id(reason: str, sentence: str) -> None:
    assert useful(reason) == sentence
