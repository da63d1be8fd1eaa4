"""Change sets, by what CloudFormation answers. Those of a real stack: tests/local."""

import json
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import ANY, Stubber

from release.review.deployed import Deployed

TEMPLATE = {
    "Resources": {"Log": {"Type": "AWS::Logs::LogGroup", "Metadata": {"aws:cdk:path": "x"}}}
}
AFTER: dict[str, Any] = {"prod-text": {"Resources": {}}}


@pytest.fixture
def deployed() -> Deployed:
    session = boto3.Session("key", "secret", region_name="us-east-1")
    return Deployed(session.client("cloudformation"), "prod")


@pytest.fixture
def stubbed(deployed: Deployed) -> Stubber:
    """CloudFormation with the one stack prod-text."""
    stubber = Stubber(deployed.cloudformation)
    stack = {"StackName": "prod-text", "CreationTime": 0, "StackStatus": "UPDATE_COMPLETE"}
    stubber.add_response("describe_stacks", {"Stacks": [stack]})
    stubber.add_response("get_template", {"TemplateBody": json.dumps(TEMPLATE)})
    return stubber


def _ends(stubber: Stubber, reason: str) -> None:
    """Let a change set be made, and fail."""
    stubber.add_response("create_change_set", {"Id": "a" * 10})
    described = {"Status": "FAILED", "StatusReason": reason}
    stubber.add_response("describe_change_set", described)
    names = {"StackName": "prod-text", "ChangeSetName": ANY}
    stubber.add_response("delete_change_set", {}, names)


def test_what_cloudformation_refuses_is_left_out_with_its_reason(
    deployed: Deployed, stubbed: Stubber
) -> None:
    _ends(stubbed, "No export named dev-models:Key found")
    with stubbed:
        assert deployed.change_sets(AFTER) == {}
    assert deployed.refused == ["prod-text: No export named dev-models:Key found"]
    stubbed.assert_no_pending_responses()


def test_a_template_that_is_no_template_is_left_out_too(
    deployed: Deployed, stubbed: Stubber
) -> None:
    stubbed.add_client_error("create_change_set", "ValidationError", "Template format error")
    with stubbed:
        assert deployed.change_sets(AFTER) == {}
    assert deployed.refused == ["prod-text: Template format error"]


def test_a_stack_without_a_change_is_no_refusal(deployed: Deployed, stubbed: Stubber) -> None:
    _ends(stubbed, "The submitted information didn't contain changes.")
    with stubbed:
        assert deployed.change_sets(AFTER) == {}
    assert deployed.refused == []


def test_credentials_that_may_not_make_change_sets_are_told(
    deployed: Deployed, stubbed: Stubber
) -> None:
    stubbed.add_client_error("create_change_set", "AccessDenied", "not authorized")
    with stubbed, pytest.raises(ClientError, match="not authorized"):
        deployed.change_sets(AFTER)
