import json
from typing import Any

import pytest

from local_sagemaker.api import Answer, JsonService, Operation, error_response, send_response
from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.invocation import Receive, Send
from local_sagemaker.tests.conftest import ClientFor


def service(**operations: Operation) -> JsonService:
    return JsonService("codebuild", operations)


def ask(service: JsonService, operation: str, body: bytes = b"{}") -> Answer:
    return service.answer(operation, body)


def refusal(answer: Answer) -> tuple[int, str, str]:
    status, headers, body = answer
    content = json.loads(body)
    assert headers["x-amzn-ErrorType"] == content["__type"]
    return status, content["__type"], content["message"]


def unreachable(request: dict[str, Any]) -> dict[str, Any]:
    raise AssertionError("a refused request must not reach its operation")


def test_a_request_runs_the_operation_that_its_target_names() -> None:
    requests = service(
        StopBuild=lambda request: {"build": {"id": f"stopped {request['id']}"}},
        StartBuild=unreachable,
    )
    status, headers, body = ask(requests, "StopBuild", b'{"id": "a:1"}')
    assert (status, json.loads(body)) == (200, {"build": {"id": "stopped a:1"}})
    assert headers["Content-Type"] == "application/x-amz-json-1.1"


def test_no_body_is_an_empty_request() -> None:
    assert ask(service(ListBuilds=lambda each: each), "ListBuilds", b"")[2] == b"{}"


def deep(levels: int) -> bytes:
    return b'{"ids": ' + b"[" * levels + b"]" * levels + b"}"


@pytest.mark.parametrize(
    "body",
    [
        b"{", b"\xff", b"MODEL=minilm", deep(100_000),
        b'{"a": NaN}', b'{"a": -Infinity}', b'{"a": 1e999}', b'{"a": 9223372036854775808}',
        b'{"a": ' + b"1" * 5000 + b"}",
    ],
)  # fmt: skip
def test_a_body_that_is_no_json_is_refused(body: bytes) -> None:
    status, code, message = refusal(ask(service(ListBuilds=unreachable), "ListBuilds", body))
    assert (status, code) == (400, "SerializationException")
    assert message.startswith("The body is not JSON: ")


@pytest.mark.parametrize("levels", range(100, 1100, 100))
def test_a_body_may_be_deep_without_an_error_of_ours(levels: int) -> None:
    status, _, _ = refusal(ask(service(BatchGetBuilds=unreachable), "BatchGetBuilds", deep(levels)))
    assert status == 400


@pytest.mark.parametrize("body", [b"[]", b'"x"', b"5", b"null", b'{"ids": 5}'])
def test_a_body_that_is_no_request_is_refused(body: bytes) -> None:
    answer = ask(service(BatchGetBuilds=unreachable), "BatchGetBuilds", body)
    assert refusal(answer)[:2] == (400, "ValidationException")


def test_numbers_are_read_as_they_are_written() -> None:
    requests = service(UpdateProject=lambda each: {"read": each["timeoutInMinutes"]})
    body = b'{"name": "p1", "timeoutInMinutes": 60}'
    assert ask(requests, "UpdateProject", body)[2] == b'{"read": 60}'


def test_an_operation_that_is_not_emulated_is_refused_by_name() -> None:
    assert refusal(ask(service(StartBuild=unreachable), "CreateFleet")) == (
        400,
        "UnknownOperationException",
        "the local SageMaker has no CreateFleet: it is not emulated",
    )


def test_a_missing_parameter_is_refused_before_the_operation_runs() -> None:
    assert refusal(ask(service(StartBuild=unreachable), "StartBuild")) == (
        400,
        "ValidationException",
        'Missing required parameter in input: "projectName"',
    )


def test_an_unknown_parameter_is_refused_with_the_known_ones() -> None:
    body = b'{"projectName": "p", "projektName": "p"}'
    status, code, message = refusal(ask(service(StartBuild=unreachable), "StartBuild", body))
    assert (status, code) == (400, "ValidationException")
    assert message.startswith('Unknown parameter in input: "projektName", must be one of: ')
    assert "timeoutInMinutesOverride" in message


def test_every_fault_of_a_request_is_named() -> None:
    with pytest.raises(ApiError) as refused:
        service(BatchGetBuilds=unreachable).call("BatchGetBuilds", {"ids": "a:1", "all": True})
    assert "Unknown parameter in input" in refused.value.message
    assert "Invalid type for parameter ids, value: a:1" in refused.value.message


def test_call_answers_without_http_and_raises_what_http_would_answer() -> None:
    requests = service(ListBuilds=lambda _: {"ids": []})
    assert requests.call("ListBuilds", {}) == {"ids": []}
    with pytest.raises(ApiError) as refused:
        requests.call("StartBuild", {"projectName": "p"})
    assert refused.value.code == "UnknownOperationException"


def test_an_errors_answer_has_its_status_code_message_and_fields() -> None:
    error = ApiError("ModelError", "Received server error", status=424, OriginalStatusCode=500)
    status, headers, body = error_response(error)
    assert status == 424
    assert headers == {
        "Content-Type": "application/x-amz-json-1.1",
        "x-amzn-ErrorType": "ModelError",
    }
    assert json.loads(body) == {
        "__type": "ModelError",
        "message": "Received server error",
        "Message": "Received server error",
        "OriginalStatusCode": 500,
    }


def test_an_sdk_raises_the_exception_of_the_errors_code(client_for: ClientFor) -> None:
    def refuse(request: dict[str, Any]) -> dict[str, Any]:
        raise ApiError("ResourceNotFoundException", f"no {request['projectName']}")

    client = client_for("codebuild", service(StartBuild=refuse))
    with pytest.raises(client.exceptions.ResourceNotFoundException) as refused:
        client.start_build(projectName="p")
    assert refused.value.response["Error"] == {
        "Code": "ResourceNotFoundException",
        "Message": "no p",
    }
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 400


def test_an_sdk_reads_the_further_fields_of_an_error(client_for: ClientFor) -> None:
    async def refuse(_: Any, receive: Receive, send: Send) -> None:
        fields: dict[str, Any] = {"OriginalStatusCode": 507, "OriginalMessage": "out of memory"}
        error = ApiError("ModelError", "Received server error", status=424, **fields)
        await send_response(send, error_response(error))

    client = client_for("sagemaker-runtime", refuse)
    with pytest.raises(client.exceptions.ModelError) as refused:
        client.invoke_endpoint(EndpointName="text", Body=b"")
    response = refused.value.response
    assert response["Error"] == {"Code": "ModelError", "Message": "Received server error"}
    assert (response["OriginalStatusCode"], response["OriginalMessage"]) == (507, "out of memory")
    assert response["ResponseMetadata"]["HTTPStatusCode"] == 424


def test_an_sdk_reads_an_answer(client_for: ClientFor) -> None:
    requests = service(BatchGetBuilds=lambda each: {"builds": [], "buildsNotFound": each["ids"]})
    client = client_for("codebuild", requests)
    assert client.batch_get_builds(ids=["a:1"])["buildsNotFound"] == ["a:1"]
