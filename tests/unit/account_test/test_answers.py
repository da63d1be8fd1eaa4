"""Recording of AWS responses: members, errors, repetitions and pages."""

import pytest
from botocore.exceptions import ClientError

from account_test.answers import AnswerRecorder, Answers
from tests.unit.release.preflight.conftest import Aws, error

ENDPOINT = {
    "EndpointName": "one",
    "EndpointArn": "arn:aws:sagemaker:us-east-1:111122223333:endpoint/one",
    "EndpointStatus": "InService",
    "EndpointConfigName": "first",
    "CreationTime": 0,
    "LastModifiedTime": 0,
}


@pytest.fixture
def aws() -> Aws:
    return Aws()


@pytest.fixture
def recorder(aws: Aws) -> AnswerRecorder:
    recorder = AnswerRecorder(aws.session)
    recorder.step = "deploy"
    return recorder


def describe(recorder: AnswerRecorder) -> None:
    recorder.call("sagemaker:DescribeEndpoint", EndpointName="one")


def test_used_members_are_recorded_with_step_and_request(
    aws: Aws, recorder: AnswerRecorder
) -> None:
    aws.answers["sagemaker.DescribeEndpoint"] = ENDPOINT
    describe(recorder)
    (answer,) = recorder.answers.of("DescribeEndpoint", "deploy")
    assert (answer.operation, answer.request) == (
        "sagemaker:DescribeEndpoint",
        {"EndpointName": "one"},
    )
    assert answer.response == {"EndpointStatus": "InService", "EndpointConfigName": "first"}
    assert recorder.answers.of("DescribeEndpoint", "update") == Answers()


def test_repeated_response_is_recorded_once(aws: Aws, recorder: AnswerRecorder) -> None:
    for status in ("Updating", "Updating", "InService", "Updating"):
        aws.answers["sagemaker.DescribeEndpoint"] = {**ENDPOINT, "EndpointStatus": status}
        describe(recorder)
    statuses = [answer.response["EndpointStatus"] for answer in recorder.answers]
    assert statuses == ["Updating", "InService", "Updating"]


def test_error_response_is_recorded_and_raised(aws: Aws, recorder: AnswerRecorder) -> None:
    aws.answers["sagemaker.DescribeEndpoint"] = error("ValidationException", "Could not find it")
    with pytest.raises(ClientError):
        describe(recorder)
    (answer,) = recorder.answers
    assert answer.error == {"Code": "ValidationException", "Message": "Could not find it"}


def test_unsupported_call_of_local_sagemaker_is_not_recorded(
    aws: Aws, recorder: AnswerRecorder
) -> None:
    aws.answers["sagemaker.DescribeEndpoint"] = error(
        "ValidationException", "The local SageMaker does not support MetricsConfig: leave it out."
    )
    with pytest.raises(ClientError):
        describe(recorder)
    assert recorder.answers == Answers()


def test_pages_are_merged_into_one_response(aws: Aws, recorder: AnswerRecorder) -> None:
    def page(request: dict[str, str]) -> dict[str, object]:
        last = "NextToken" in request
        name = "second" if last else "first"
        metric = {"MetricName": name, "Dimensions": [{"Name": "by", "Value": "x"}]}
        return {"Metrics": [metric], **({} if last else {"NextToken": "more"})}

    aws.answers["cloudwatch.ListMetrics"] = page
    recorder.call("cloudwatch:ListMetrics", Namespace="AWS/SageMaker")
    (answer,) = recorder.answers
    assert [metric["MetricName"] for metric in answer.response["Metrics"]] == ["first", "second"]
    assert answer.response["Metrics"][0]["Dimensions"] == ["by"]
