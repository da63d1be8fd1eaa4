import json
from types import SimpleNamespace
from typing import Any

import pytest

from local_sagemaker.api import JsonService
from local_sagemaker.validation.protocols import Response


def service(**operations: Any) -> JsonService:
    return JsonService("codebuild", SimpleNamespace(**operations))


def post(service: JsonService, operation: str, body: bytes = b"{}") -> Response:
    response = service.answer(operation, body)
    assert response
    return response


def refusal(answer: Response) -> tuple[int, str, str]:
    status, headers, body = answer
    content = json.loads(body)
    assert headers["x-amzn-ErrorType"] == content["__type"]
    return status, content["__type"], content["message"]


def unreachable(request: dict[str, Any]) -> dict[str, Any]:
    raise AssertionError("a refused request must not reach its operation")


def test_empty_body_is_an_empty_request() -> None:
    assert post(service(list_builds=lambda request: request), "ListBuilds", b"")[2] == b"{}"


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
def test_invalid_json_is_refused(body: bytes) -> None:
    status, code, message = refusal(post(service(list_builds=unreachable), "ListBuilds", body))
    assert (status, code) == (400, "SerializationException")
    assert message.startswith("The body is not JSON: ")


@pytest.mark.parametrize("levels", [300, 600, 1000])
def test_deeply_nested_body_is_no_internal_error(levels: int) -> None:
    status, _, _ = refusal(
        post(service(batch_get_builds=unreachable), "BatchGetBuilds", deep(levels))
    )
    assert status == 400


@pytest.mark.parametrize("name", ["CreateFleet", "", "\u00e4"])
def test_unsupported_operation_is_refused(name: str) -> None:
    message = f"the local SageMaker has no {name}: it is not emulated"
    refused = refusal(post(service(start_build=unreachable), name))
    assert refused == (400, "UnknownOperationException", message)
