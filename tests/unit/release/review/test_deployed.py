"""Change sets, by what CloudFormation answers. Those of a real stack: tests/local."""

import json
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import ANY, Stubber

from release.review.access_analyzer import NOT_ASKED, access_said
from release.review.deployed import Deployed
from tests.unit.release.preflight.conftest import CALLER, Aws, denied, error, template

TEMPLATE = {
    "Resources": {"Log": {"Type": "AWS::Logs::LogGroup", "Metadata": {"aws:cdk:path": "x"}}}
}
AFTER: dict[str, Any] = {"prod-text": {"Resources": {}}}


@pytest.fixture
def deployed() -> Deployed:
    session = boto3.Session("key", "secret", region_name="us-east-1")
    return Deployed(session, "prod")


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
    message = "user/ann is not authorized to perform: cloudformation:CreateChangeSet on x"
    stubbed.add_client_error("create_change_set", "AccessDenied", message)
    with stubbed:
        assert deployed.change_sets(AFTER) == {}
    said = "prod-text: not asked: not allowed to ask (cloudformation:CreateChangeSet)"
    assert deployed.refused == [said]


def test_what_no_change_set_can_say_ends_the_review(deployed: Deployed, stubbed: Stubber) -> None:
    stubbed.add_client_error("create_change_set", "Throttling", "Rate exceeded")
    with stubbed, pytest.raises(ClientError, match="Rate exceeded"):
        deployed.change_sets(AFTER)


def _stack(*actions: str) -> dict[str, dict[str, Any]]:
    policies = {
        name: (
            "AWS::IAM::Policy",
            {"PolicyDocument": {"Statement": [{"Effect": "Allow", "Action": action}]}},
        )
        for name, action in zip("ABC", actions, strict=False)
    }
    return {"prod-text": template(policies)}


@pytest.fixture
def aws() -> Aws:
    aws = Aws()
    aws.answers["sts.GetCallerIdentity"] = {"Account": CALLER.account, "Arn": CALLER.arn}
    return aws


def test_aws_says_of_each_policy_that_differs_what_access_is_new(aws: Aws) -> None:
    def answer(request: dict[str, Any]) -> dict[str, Any]:
        if "s3:Put" in request["newPolicyDocument"]:
            reasons = [{"description": "New access in statement 0.", "statementIndex": 0}]
            return {"result": "FAIL", "message": "There is new access.", "reasons": reasons}
        return {"result": "PASS", "message": "The policies are the same."}

    aws.answers["accessanalyzer.CheckNoNewAccess"] = answer
    before, after = (
        _stack("s3:*", "s3:Get", "kms:Decrypt"),
        _stack("s3:Put", "s3:List", "kms:Decrypt"),
    )
    assert access_said(aws.session, before, after) == [
        "IAM Access Analyzer, prod-text: A: There is new access. New access in statement 0.",
        "IAM Access Analyzer, prod-text: B: no access that was not there",
    ]
    assert len(aws.requests("accessanalyzer.CheckNoNewAccess")) == 2


def test_aws_is_asked_nothing_where_no_template_differs(aws: Aws) -> None:
    same = _stack("s3:Get")
    assert access_said(aws.session, same, {**same, "prod-new": template({})}) == []
    assert aws.asked == []


def test_who_may_not_ask_is_told_once_that_aws_was_not_asked(aws: Aws) -> None:
    aws.answers["accessanalyzer.CheckNoNewAccess"] = denied("access-analyzer:CheckNoNewAccess")
    assert access_said(aws.session, _stack("s3:Get", "s3:Put"), _stack("s3:*", "s3:*")) == [
        "not asked: IAM Access Analyzer, whether access is new: not allowed to ask "
        "(access-analyzer:CheckNoNewAccess)"
    ]


def test_a_policy_that_aws_cannot_read_stands_beside_the_others(aws: Aws) -> None:
    def answer(request: dict[str, Any]) -> dict[str, Any]:
        if "s3:Put" in request["existingPolicyDocument"]:
            return {"result": "PASS", "message": "The policies are the same."}
        raise error("UnprocessableEntityException", "Too large", "CheckNoNewAccess")

    aws.answers["accessanalyzer.CheckNoNewAccess"] = answer
    said = access_said(aws.session, _stack("s3:Get", "s3:Put"), _stack("s3:*", "s3:*"))
    assert [it.rpartition(": ")[2] for it in said] == ["Too large", "no access that was not there"]


def test_nobody_who_asks_is_told_too(aws: Aws) -> None:
    aws.answers["sts.GetCallerIdentity"] = error("ExpiredToken", "The token is expired")
    (said,) = access_said(aws.session, _stack("s3:Get"), _stack("s3:*"))
    assert said == f"{NOT_ASKED}: The token is expired"
