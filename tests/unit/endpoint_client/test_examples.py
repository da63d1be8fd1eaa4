"""The programs of docs/client.md."""

import asyncio
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.modules import load_module
from tests.unit.endpoint_client.conftest import BINARY, Response

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"


def return_vectors(body: bytes, content_type: str) -> Response:
    """Return a response with two numbers per text."""
    size = int(content_type.removeprefix(BINARY))
    rows = json.loads(body[:size])["inputs"][0]["shape"][0]
    array = np.tile(np.array([0.5, 1], np.float32), (rows, 1))
    output: Any = {"name": "EMBEDDING", "datatype": "FP32", "shape": array.shape}
    output["parameters"] = {"binary_data_size": array.nbytes}
    header = json.dumps({"outputs": [output]}).encode()
    return Response(
        200, header + array.tobytes(), headers={"Content-Type": f"{BINARY}{len(header)}"}
    )


@pytest.fixture
def example(
    request: pytest.FixtureRequest, aws: Any, monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    """An imported program that calls the fake AWS."""
    environment = {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": aws.url,
        "STAGE": "prod",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    aws.invoke = return_vectors
    return load_module(EXAMPLES / f"{request.param}.py")


@pytest.mark.parametrize("example", ["client_lambda"], indirect=True)
def test_lambda_function_returns_embeddings_and_errors(
    example: ModuleType, aws: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    expected = {"statusCode": 200, "body": "[[0.5, 1.0]]"}
    assert example.handler({"texts": ["one"]}, None) == expected
    assert json.loads(capsys.readouterr().out)["Model"] == "minilm"
    assert example.handler({"texts": "one"}, None)["statusCode"] == 400
    aws.responses = [Response.error("ThrottlingException") for _ in range(5)]
    assert example.handler({"texts": ["one"]}, None)["statusCode"] == 503
    aws.responses = [Response.error("InternalFailure", status=500)]
    assert example.handler({"texts": ["one"]}, None)["statusCode"] == 502
    example.client.close()


@pytest.mark.parametrize("example", ["client_fastapi"], indirect=True)
def test_fastapi_service_returns_embeddings_and_errors(example: ModuleType) -> None:
    async def post(content: Any) -> tuple[int, Any]:
        """Return the status and the body of the application's response."""
        messages: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": json.dumps(content).encode()}

        async def send(message: Any) -> None:
            messages.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": "/embeddings",
            "headers": [(b"content-type", b"application/json")],
            "query_string": b"",
        }
        await example.app(scope, receive, send)
        return messages[0]["status"], json.loads(messages[1]["body"])

    async def run() -> None:
        async with example.lifespan(example.app):
            assert await post(["text"] * 20) == (200, [[0.5, 1.0]] * 20)
            status, problem = await post([])
            assert (status, "at least 1" in problem["detail"]) == (400, True)

    asyncio.run(run())
