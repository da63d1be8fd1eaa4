"""Requests that AWS refuses, of services that ministack answers, in the protocols of boto3.

The rows are from the API references, and from responses of AWS that GitHub repositories record.
"""

import json
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

import boto3
import pytest
from botocore import xform_name
from botocore.awsrequest import AWSResponse, HeadersDict
from botocore.config import Config
from botocore.exceptions import ClientError

from local_sagemaker.api import JsonService, refusal
from local_sagemaker.emulator import SERVICES
from local_sagemaker.errors import ApiError
from local_sagemaker.validation import model
from local_sagemaker.validation.documented import RULES
from local_sagemaker.validation.protocols import service_model

Record = dict[str, Any]
ACCEPTED = b'{"accepted": true}'
ALARM: Record = {
    "AlarmName": "a", "MetricName": "m", "Namespace": "n", "Statistic": "Sum", "Period": 60,
    "EvaluationPeriods": 1, "Threshold": 1.0, "ComparisonOperator": "GreaterThanThreshold",
}  # fmt: skip
PARAMETER: Record = {"Name": "/a/b", "Value": "v", "Type": "String"}
MACHINE: Record = {"name": "m", "definition": "{}", "roleArn": "arn:aws:iam::123456789012:role/r"}
TIME, LATER = (datetime(2026, 1, day, tzinfo=UTC) for day in (1, 2))


class Raw:
    """The body of a response."""

    def __init__(self, content: bytes) -> None:
        self.content = content

    def stream(self, *_: Any, **__: Any) -> Any:
        yield self.content


def error_of(service: str, operation: str, request: Record) -> tuple[str, str]:
    """Send a request with boto3, without its own validation; return Code and Message, or two ""."""
    config = Config(parameter_validation=False, retries={"total_max_attempts": 1})
    make: Any = boto3.client
    client = make(
        service,
        region_name="us-east-1",
        aws_access_key_id="test",
        aws_secret_access_key="test",
        endpoint_url="http://127.0.0.1:1",
        config=config,
    )

    def answer(request: Any, **_: Any) -> AWSResponse:
        headers = {
            name.lower(): value.decode() if isinstance(value, bytes) else value
            for name, value in request.headers.items()
        }
        body = request.body.encode() if isinstance(request.body, str) else request.body
        response = refusal(urlsplit(request.url).path, headers, body)
        if response is None:
            raise InterruptedError
        status, response_headers, content = response
        header_names: Any = HeadersDict(response_headers)
        return AWSResponse(request.url, status, header_names, Raw(content))

    client.meta.events.register("before-send", answer)
    try:
        getattr(client, xform_name(operation))(**request)
    except ClientError as error:
        return error.response["Error"]["Code"], error.response["Error"]["Message"]
    except InterruptedError:
        pass
    return "", ""


@pytest.mark.parametrize(
    ("operation", "request_"),
    [
        ("cloudwatch:PutMetricAlarm", ALARM),
        ("cloudwatch:PutMetricAlarm", {**ALARM, "Period": 10, "EvaluationPeriods": 90}),
        ("cloudwatch:PutMetricAlarm", {**ALARM, "Period": 3600, "EvaluationPeriods": 168}),
        ("cloudwatch:PutMetricData", {"Namespace": "n", "MetricData": [
            {"MetricName": "m", "Value": 1.0, "Timestamp": TIME}]}),
        ("cloudwatch:GetMetricStatistics", {"Namespace": "n", "MetricName": "m", "Period": 60,
            "StartTime": TIME, "EndTime": LATER, "Statistics": ["Sum"]}),
        ("ssm:PutParameter", PARAMETER),
        ("ssm:PutParameter", {**PARAMETER, "Name": "plain.name-1", "Value": "x" * 4096}),
        ("ssm:PutParameter", {**PARAMETER, "Tier": "Advanced", "Value": "x" * 8192}),
        ("ssm:GetParametersByPath", {"Path": "/a", "Recursive": True}),
        ("logs:PutLogEvents", {"logGroupName": "/a/b", "logStreamName": "s", "logEvents": [
            {"timestamp": 1, "message": "m"}]}),
        ("logs:PutRetentionPolicy", {"logGroupName": "g", "retentionInDays": 90}),
        ("stepfunctions:CreateStateMachine", MACHINE),
        ("cloudformation:CreateStack", {"StackName": "a-1", "TemplateBody": "{}", "Parameters": [
            {"ParameterKey": "a", "ParameterValue": "b"}], "Tags": [{"Key": "é", "Value": "x"}]}),
        ("iam:CreateRole", {"RoleName": "r", "AssumeRolePolicyDocument": "{\n}", "Tags": []}),
        ("sts:AssumeRole", {"RoleArn": MACHINE["roleArn"], "RoleSessionName": "session"}),
        ("sns:Publish", {"TopicArn": "arn:aws:sns:us-east-1:0:t", "Message": "m",
            "MessageAttributes": {"a": {"DataType": "String", "StringValue": "v"}}}),
        ("ec2:DescribeSubnets", {"Filters": [{"Name": "vpc-id", "Values": ["vpc-1"]}]}),
        ("kms:Encrypt", {"KeyId": "alias/a", "Plaintext": b"x" * 10}),
        ("secretsmanager:CreateSecret", {"Name": "a/b", "SecretString": "s"}),
        ("dynamodb:PutItem", {"TableName": "table", "Item": {"a": {"S": "b"}, "n": {"N": "1"}}}),
        ("events:PutRule", {"Name": "r", "ScheduleExpression": "rate(1 day)"}),
    ],
)  # fmt: skip
def test_valid_request_reaches_ministack(operation: str, request_: Record) -> None:
    service, _, name = operation.partition(":")
    assert error_of(service, name, request_) == ("", "")


@pytest.mark.parametrize(
    ("operation", "request_", "code"),
    [
        # The audit of 2026-11-24: accepted by ministack, refused by AWS.
        ("cloudwatch:PutMetricAlarm", {**ALARM, "DatapointsToAlarm": 15}, "ValidationError"),
        ("cloudwatch:PutMetricAlarm", {**ALARM, "Period": 45}, "ValidationError"),
        ("cloudwatch:PutMetricAlarm", {**ALARM, "Period": None}, "ValidationError"),
        ("cloudwatch:PutMetricAlarm", {**ALARM, "ComparisonOperator": "More"}, "ValidationError"),
        ("cloudwatch:PutMetricAlarm", {**ALARM, "Period": 3600, "EvaluationPeriods": 169},
            "ValidationError"),
        ("ssm:PutParameter", {**PARAMETER, "Name": "/a@b"}, "ValidationException"),
        ("ssm:PutParameter", {**PARAMETER, "Name": "/a b"}, "ValidationException"),
        ("ssm:PutParameter", {**PARAMETER, "Value": "x" * 5000}, "ValidationException"),
        ("ssm:PutParameter", {**PARAMETER, "Name": "/a" * 17}, "ValidationException"),
        ("ssm:PutParameter", {**PARAMETER, "Name": "a/b"}, "ValidationException"),
        ("ssm:GetParametersByPath", {"Path": "a"}, "ValidationException"),
        # Further rows from the API references.
        ("cloudwatch:PutMetricAlarm", {**ALARM, "EvaluationPeriods": 1441}, "ValidationError"),
        ("cloudwatch:PutMetricAlarm", {**ALARM, "EvaluationPeriods": 0}, "ValidationError"),
        ("cloudwatch:PutMetricAlarm", {**ALARM, "AlarmName": "a" * 256}, "ValidationError"),
        ("cloudwatch:PutMetricAlarm", {**ALARM, "Statistic": "Median"}, "ValidationError"),
        ("cloudwatch:PutMetricAlarm", {**ALARM, "ExtendedStatistic": "p99"}, "ValidationError"),
        ("cloudwatch:PutMetricAlarm", {**ALARM, "Statistic": None}, "ValidationError"),
        ("cloudwatch:PutMetricAlarm", {**ALARM, "MetricName": None}, "ValidationError"),
        ("cloudwatch:PutMetricAlarm", {**ALARM, "AlarmActions": ["a"] * 6}, "ValidationError"),
        ("cloudwatch:PutMetricAlarm", {**ALARM, "Threshold": None}, "ValidationError"),
        ("cloudwatch:PutMetricData", {"Namespace": "n", "MetricData": [{"MetricName": "m"}]},
            "ValidationError"),
        ("cloudwatch:PutMetricData", {"Namespace": "n", "MetricData": [
            {"MetricName": "m", "Values": [1.0], "Counts": [1.0, 2.0]}]}, "InvalidParameterValue"),
        ("cloudwatch:PutMetricData", {"Namespace": ":n", "MetricData": []}, "ValidationError"),
        ("cloudwatch:GetMetricStatistics", {"Namespace": "n", "MetricName": "m", "Period": 61,
            "StartTime": TIME, "EndTime": TIME, "Statistics": ["Sum"]}, "ValidationError"),
        ("cloudwatch:SetAlarmState", {"AlarmName": "a", "StateValue": "BAD", "StateReason": "r"},
            "ValidationError"),
        ("ssm:PutParameter", {**PARAMETER, "Name": "/aws/x"}, "ValidationException"),
        ("ssm:PutParameter", {**PARAMETER, "Name": "SSMname"}, "ValidationException"),
        ("ssm:PutParameter", {**PARAMETER, "Type": "Text"}, "ValidationException"),
        ("ssm:PutParameter", {**PARAMETER, "Value": ""}, "ValidationException"),
        ("ssm:PutParameter", {**PARAMETER, "Tier": "Advanced", "Value": "x" * 8193},
            "ValidationException"),
        ("ssm:PutParameter", {**PARAMETER, "Overwrite": True, "Tags": [
            {"Key": "k", "Value": "v"}]}, "ValidationException"),
        ("ssm:GetParameters", {"Names": ["a"] * 11}, "ValidationException"),
        ("ssm:GetParametersByPath", {"Path": "/a", "MaxResults": 11}, "ValidationException"),
        ("logs:CreateLogGroup", {"logGroupName": "a b"}, "InvalidParameterException"),
        ("logs:CreateLogStream", {"logGroupName": "g", "logStreamName": "a:b"},
            "InvalidParameterException"),
        ("logs:PutLogEvents", {"logGroupName": "g", "logStreamName": "s", "logEvents": []},
            "InvalidParameterException"),
        ("logs:PutLogEvents", {"logGroupName": "g", "logStreamName": "s", "logEvents": [
            {"timestamp": 2, "message": "m"}, {"timestamp": 1, "message": "m"}]},
            "InvalidParameterException"),
        ("logs:PutRetentionPolicy", {"logGroupName": "g", "retentionInDays": 2},
            "InvalidParameterException"),
        ("logs:FilterLogEvents", {"logGroupName": "g", "limit": 10_001},
            "InvalidParameterException"),
        ("stepfunctions:CreateStateMachine", {**MACHINE, "roleArn": "r"}, "ValidationException"),
        ("stepfunctions:CreateStateMachine", {**MACHINE, "name": "m" * 81}, "ValidationException"),
        ("stepfunctions:CreateStateMachine", {**MACHINE, "type": "FAST"}, "ValidationException"),
        ("events:PutRule", {"Name": "r"}, "ValidationException"),
        ("events:PutRule", {"Name": "a b", "EventPattern": "{}"}, "ValidationException"),
        ("cloudformation:CreateStack", {"StackName": "a", "OnFailure": "STOP"}, "ValidationError"),
        ("cloudformation:CreateStack", {"StackName": "a", "RoleARN": "arn:aws:iam::1:user/administr"
            "ator"}, "ValidationError"),
        ("cloudformation:CreateChangeSet", {"StackName": "a", "ChangeSetName": "1"},
            "ValidationError"),
        ("iam:CreateRole", {"RoleName": "a b", "AssumeRolePolicyDocument": "{}"},
            "ValidationError"),
        ("iam:CreateRole", {"RoleName": "r", "AssumeRolePolicyDocument": "{}",
            "MaxSessionDuration": 60}, "ValidationError"),
        ("sts:AssumeRole", {"RoleArn": MACHINE["roleArn"], "RoleSessionName": "a b"},
            "ValidationError"),
        ("sts:AssumeRole", {"RoleArn": MACHINE["roleArn"], "RoleSessionName": "s",
            "DurationSeconds": 60}, "ValidationError"),
        ("kms:CreateAlias", {"AliasName": "alias/a b", "TargetKeyId": "k"}, "ValidationException"),
        ("kms:CreateKey", {"KeyUsage": "ANY"}, "ValidationException"),
        ("secretsmanager:CreateSecret", {"Name": "a" * 513}, "ValidationException"),
        ("ecr:CreateRepository", {"repositoryName": "A"}, "InvalidParameterException"),
        ("dynamodb:CreateTable", {"TableName": "table", "KeySchema": []},
            "ValidationException"),
    ],
)  # fmt: skip
def test_invalid_request_is_refused(operation: str, request_: Record, code: str) -> None:
    service, _, name = operation.partition(":")
    members = {member: value for member, value in request_.items() if value is not None}
    assert error_of(service, name, members)[0] == code


def test_message_names_the_member_as_aws_does() -> None:
    _, message = error_of("iam", "CreateRole", {"RoleName": "a b", "AssumeRolePolicyDocument": "x"})
    assert message == (
        "1 validation error detected: Value 'a b' at 'roleName' failed to satisfy constraint: "
        "Member must satisfy regular expression pattern: [\\w+=,.@-]+"
    )


@pytest.mark.parametrize("body", [b"{", b'{"Name": NaN}', b"\xff", b"[]"])
def test_body_that_is_no_request_is_refused(body: bytes) -> None:
    headers = {
        "x-amz-target": "AmazonSSM.GetParameter",
        "authorization": "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/ssm/aws4_request",
    }
    response = refusal("/", headers, body)
    assert response
    assert json.loads(response[2])["__type"] in ("SerializationException", "ValidationException")


@pytest.mark.parametrize("target", ["AmazonSSM.None", "None.GetParameter", ""])
def test_unknown_operation_reaches_ministack(target: str) -> None:
    credential = "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/none/aws4_request"
    assert refusal("/", {"x-amz-target": target, "authorization": credential}, b"{}") is None


def test_rules_are_of_existing_operations() -> None:
    for key in RULES:
        service, _, operation = key.partition(":")
        assert service_model(service).operation_model(operation)


NAMES = {
    "monitoring": "cloudwatch",
    "states": "stepfunctions",
    "tagging": "resourcegroupstaggingapi",
}


@pytest.mark.parametrize("service", [*SERVICES.split(","), "sagemaker", "codebuild"])
def test_patterns_compile(service: str) -> None:
    models = service_model(NAMES.get(service, service))
    patterns = {models.shape_for(name).metadata.get("pattern") for name in models.shape_names}
    uncompiled = [pattern for pattern in patterns if pattern and not model._compile(pattern)]
    assert len(uncompiled) <= 6, uncompiled  # SageMaker's have classes that Python lacks


def shape_of(operation: str) -> Any:
    return service_model("sagemaker").operation_model(operation).input_shape


def refusal_of(operation: str, request: Record) -> str:
    with pytest.raises(ApiError) as refused:
        model.check_constraints(request, shape_of(operation))
    return refused.value.message


def variant(**members: Any) -> Record:
    variants = [{"VariantName": "a"}, {"VariantName": "b", **members}]
    return {"EndpointConfigName": "c", "ProductionVariants": variants}


@pytest.mark.parametrize("name", ["../../../x", "a_b", "a b", "-a", "a-", "", "é", "a\n", "a/b"])
def test_invalid_name_is_refused(name: str) -> None:
    assert refusal_of("CreateEndpoint", {"EndpointName": name, "EndpointConfigName": "c"}) == (
        f"1 validation error detected: Value '{name}' at 'endpointName' failed to satisfy "
        "constraint: Member must satisfy regular expression pattern: "
        "[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}"
    )


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"InstanceType": "ml.none.xlarge"}, "instanceType' failed to satisfy constraint: Member mu"
        "st satisfy enum value set: [ml.t2.medium, "),
        ({"InitialInstanceCount": 2**31}, "initialInstanceCount' failed to satisfy constraint: Mem"
        "ber must have value less than or equal to 2147483647"),
    ],
)  # fmt: skip
def test_violation_in_a_list_has_its_path(members: Record, expected: str) -> None:
    message = refusal_of("CreateEndpointConfig", variant(**members))
    assert f" at 'productionVariants.2.member.{expected}" in message


@pytest.mark.parametrize("environment", [{"A": "x" * 1025}, {"A B": "x"}])
def test_map_keys_and_values_are_checked(environment: dict[str, str]) -> None:
    request = {"ModelName": "m", "PrimaryContainer": {"Environment": environment}}
    assert " at 'primaryContainer.environment." in refusal_of("CreateModel", request)


def test_own_service_answers_valid_requests_only() -> None:
    service = JsonService("codebuild", {"ListBuilds": lambda _: {"ids": []}})
    response = service.answer("ListBuilds", b'{"sortOrder": "UP"}')
    assert response
    assert response[0] == 400
