"""The examples of docs/client.md."""

import asyncio
import importlib.util
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from tests.unit.endpoint_client.conftest import BINARY, Answer

EXAMPLES = Path(__file__).parents[3] / "docs" / "examples"


def vectors(body: bytes, content_type: str) -> Answer:
    """Answer each text with two numbers."""
    size = int(content_type.removeprefix(BINARY))
    rows = json.loads(body[:size])["inputs"][0]["shape"][0]
    array = np.tile(np.array([0.5, 1], np.float32), (rows, 1))
    output: Any = {"name": "EMBEDDING", "datatype": "FP32", "shape": array.shape}
    output["parameters"] = {"binary_data_size": array.nbytes}
    header = json.dumps({"outputs": [output]}).encode()
    return Answer(200, header + array.tobytes(), headers={"Content-Type": f"{BINARY}{len(header)}"})


@pytest.fixture
def example(
    request: pytest.FixtureRequest, aws: Any, monkeypatch: pytest.MonkeyPatch
) -> ModuleType:
    """An example, imported where AWS is the stub."""
    environment = {
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": aws.url,
        "STAGE": "prod",
    }
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    aws.invoke = vectors
    spec = importlib.util.spec_from_file_location(request.param, EXAMPLES / f"{request.param}.py")
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("example", ["client_lambda"], indirect=True)
def test_a_lambda_function_answers_and_says_what_is_wrong(
    example: ModuleType, aws: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    answer = {"statusCode": 200, "body": [[0.5, 1.0]]}
    assert example.handler({"texts": ["one"]}, None) == answer
    assert json.loads(capsys.readouterr().out)["Model"] == "minilm"
    assert example.handler({"texts": "one"}, None)["statusCode"] == 400
    aws.answers = [Answer.error("ThrottlingException") for _ in range(5)]
    assert example.handler({"texts": ["one"]}, None)["statusCode"] == 503
    aws.answers = [Answer.error("InternalFailure", status=500)]
    assert example.handler({"texts": ["one"]}, None)["statusCode"] == 502
    example.client.close()


@pytest.mark.parametrize("example", ["client_fastapi"], indirect=True)
def test_a_service_answers_and_says_what_is_wrong(example: ModuleType) -> None:
    async def post(content: Any) -> tuple[int, Any]:
        """Ask the application as a server does."""
        sent: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": json.dumps(content).encode()}

        async def send(message: Any) -> None:
            sent.append(message)

        scope = {
            "type": "http",
            "method": "POST",
            "path": "/embeddings",
            "headers": [(b"content-type", b"application/json")],
            "query_string": b"",
        }
        await example.app(scope, receive, send)
        return sent[0]["status"], json.loads(sent[1]["body"])

    async def served() -> None:
        async with example.lifespan(example.app):
            assert await post(["text"] * 20) == (200, [[0.5, 1.0]] * 20)
            status, problem = await post([])
            assert (status, "at least 1" in problem["detail"]) == (400, True)

    asyncio.run(served())
