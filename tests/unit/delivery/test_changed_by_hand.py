"""Tests of the comparison of deployed policies and log groups with a stack's template."""

import json
import shlex
from typing import Any

import pytest

from delivery.drift import LiveDifference, manual_changes
from tests.unit.delivery.preflight.conftest import Aws, denied, resources, template

ALLOW = {
    "Effect": "Allow",
    "Action": ["s3:GetObject", "s3:ListBucket"],
    "Resource": {"Fn::Join": ["", [{"Fn::ImportValue": "models:Bucket"}, "/text/*"]]},
    "Condition": {"Bool": {"aws:SecureTransport": "true"}},
}
LIVE = {**ALLOW, "Resource": "arn:aws:s3:::any-name/text/*"}
TEMPLATE = {
    "Resources": {
        "Role": {"Type": "AWS::IAM::Role"},
        "Policy": {
            "Type": "AWS::IAM::Policy",
            "Properties": {
                "PolicyName": "Own",
                "PolicyDocument": {"Statement": [ALLOW]},
                "Roles": [{"Ref": "Role"}],
            },
        },
        "Log": {"Type": "AWS::Logs::LogGroup", "Properties": {"RetentionInDays": 30}},
    }
}


@pytest.fixture
def aws() -> Aws:
    """The deployed stack of `TEMPLATE`."""
    aws = Aws()
    aws.answers = {
        "cloudformation.ListStackResources": resources(Role="role-1", Log="/log"),
        "logs.DescribeLogGroups": {"logGroups": [{"logGroupName": "/log"}]},
    }
    set_policy(aws, LIVE)
    return aws


def set_policy(aws: Aws, *statements: Any) -> None:
    document = json.dumps({"Version": "2012-10-17", "Statement": statements})
    names = {"RoleName": "role-1", "PolicyName": "Own"}
    aws.answers["iam.GetRolePolicy"] = {**names, "PolicyDocument": document}


def changes(aws: Aws) -> list[LiveDifference]:
    return list(manual_changes(aws.session, "prod-text", TEMPLATE))


@pytest.mark.parametrize(
    "statement",
    [
        LIVE,
        {**LIVE, "Action": ["s3:ListBucket", "s3:GetObject"]},
        {**LIVE, "Resource": ["arn:aws:s3:::any-name/text/*"]},
        {**LIVE, "Condition": {"Bool": {"aws:SecureTransport": True}}},
    ],
    ids=["same", "order", "list of one", "boolean"],
)
def test_equal_policies_are_no_change(aws: Aws, statement: dict[str, Any]) -> None:
    set_policy(aws, statement)
    assert changes(aws) == []


@pytest.mark.parametrize(
    "statements",
    [
        [],
        [LIVE, LIVE],
        [{**LIVE, "Action": ["s3:GetObject"]}],
        [{**LIVE, "Action": ["s3:GetObject", "s3:*"]}],
        [{**LIVE, "Resource": "arn:aws:s3:::any-name/*"}],
        [{name: value for name, value in LIVE.items() if name != "Condition"}],
        [{**LIVE, "Effect": "Deny"}],
    ],
    ids=["none", "one more", "action less", "other action", "resource", "condition", "effect"],
)
def test_changed_policy_is_named(aws: Aws, statements: list[Any]) -> None:
    set_policy(aws, *statements)
    (change,) = changes(aws)
    assert change.subject == "inline policy Own of role-1"
    assert change.text == "differs from the deployed template"


def test_missing_permission_is_named(aws: Aws) -> None:
    aws.answers["iam.GetRolePolicy"] = denied("iam:GetRolePolicy")
    text = "not all log groups, policies and alarms are compared: no permission (iam:GetRolePolicy)"
    assert changes(aws) == [LiveDifference("prod-text", text, 'docs/security.md, "Permissions"')]


def test_commands_for_a_deleted_log_group_keep_its_retention(aws: Aws) -> None:
    """CloudWatch Logs keeps the events of a new group forever."""
    aws.answers["logs.DescribeLogGroups"] = {"logGroups": []}
    (change,) = changes(aws)
    assert change.command == (
        "aws logs create-log-group --log-group-name /log && "
        "aws logs put-retention-policy --log-group-name /log --retention-in-days 30"
    )


def test_deleted_alarms_are_named_with_the_commands_that_create_them(aws: Aws) -> None:
    """CloudWatch describes at most 100 alarms in a call."""
    account = {"Ref": "AWS::AccountId"}
    topic = {"Fn::Join": ["", ["arn:aws:sns:us-east-1:", account, ":alarms"]]}
    config = {"Fn::GetAtt": ["Config", "EndpointConfigName"]}
    alarms = {
        "Alarm0": {"Threshold": 0.1, "AlarmActions": [topic]},
        "Alarm1": {"Dimensions": [{"Name": "EndpointConfigName", "Value": config}]},
        **{f"Alarm{number}": {} for number in range(2, 101)},
    }
    names = {name: f"prod-{name}" for name in alarms}
    aws.answers = {
        "cloudformation.ListStackResources": resources(**names),
        "sts.GetCallerIdentity": {"Account": "111122223333"},
        "cloudwatch.DescribeAlarms": lambda request: {
            "MetricAlarms": [
                {"AlarmName": name}
                for name in request["AlarmNames"]
                if name not in ("prod-Alarm0", "prod-Alarm1")
            ]
        },
    }
    stack = template({name: ("AWS::CloudWatch::Alarm", each) for name, each in alarms.items()})
    first, second = manual_changes(aws.session, "prod-text", stack)
    requests = aws.requests("cloudwatch.DescribeAlarms")
    assert [len(request["AlarmNames"]) for request in requests] == [100, 1]
    assert (first.subject, first.text) == ("prod-Alarm0", "the alarm was deleted")
    *command, content = shlex.split(first.command)
    assert command == ["aws", "cloudwatch", "put-metric-alarm", "--cli-input-json"]
    assert json.loads(content) == {
        "AlarmName": "prod-Alarm0",
        "AlarmActions": ["arn:aws:sns:us-east-1:111122223333:alarms"],
        "Threshold": 0.1,
    }
    assert second.command.endswith("--stack-name prod-text --query TemplateBody.Resources.Alarm1")


def test_deleted_rollback_alarm_is_created_for_its_configuration(aws: Aws) -> None:
    """Its name ends with that of the configuration, which no other physical id spells as AWS."""
    config = {"Fn::GetAtt": ["Config", "EndpointConfigName"]}
    alarm = {
        "AlarmName": {"Fn::Join": ["", ["prod-text-Errors-", config]]},
        "Dimensions": [{"Name": "EndpointConfigName", "Value": config}],
    }
    arn, name = "arn:aws:sagemaker:us-east-1:1:endpoint-config/config-a1", "Config-A1"
    ids = resources(Alarm=f"prod-text-Errors-{name}", Config=arn)
    aws.answers = {
        "cloudformation.ListStackResources": ids,
        "sts.GetCallerIdentity": {"Account": "111122223333"},
        "cloudwatch.DescribeAlarms": {"MetricAlarms": []},
    }
    stack = template({"Alarm": ("AWS::CloudWatch::Alarm", alarm)})
    (change,) = manual_changes(aws.session, "prod-text", stack)
    assert json.loads(shlex.split(change.command)[-1]) == {
        "AlarmName": f"prod-text-Errors-{name}",
        "Dimensions": [{"Name": "EndpointConfigName", "Value": name}],
    }
