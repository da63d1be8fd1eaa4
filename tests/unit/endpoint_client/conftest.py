"""A session whose catalog is filled by hand, and whose endpoint echoes in Triton's wire format."""

import io
import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from endpoint_client import CatalogEntry, Tensor

BINARY = "application/vnd.sagemaker-triton.binary+json;json-header-size="


def parameter(model: str = "minilm", **changes: Any) -> str:
    """Return the value of a catalog parameter."""
    entry = {
        "model": model,
        "version": "0123456789ab",
        "endpoint": "prod-text",
        "target_model": f"{model}-0123456789ab.tar.gz",
        "signature": {
            "inputs": [{"name": "TEXT", "datatype": "BYTES", "shape": [-1, 1]}],
            "outputs": [{"name": "EMBEDDING", "datatype": "FP32", "shape": [-1, 384]}],
        },
    }
    return json.dumps({**entry, **changes})


def entry_of(*inputs: Tensor, outputs: tuple[Tensor, ...] = ()) -> CatalogEntry:
    """Return a model's entry with these inputs."""
    return CatalogEntry(
        model="minilm",
        version="0123456789ab",
        endpoint="prod-text",
        target_model="minilm-0123456789ab.tar.gz",
        inputs=inputs,
        outputs=outputs,
    )


def client_error(code: str, message: str, operation: str, **fields: Any) -> ClientError:
    """Return the error that botocore raises."""
    response: Any = {"Error": {"Code": code, "Message": message}, **fields}
    return ClientError(response, operation)


class FakeSsm:
    """Parameters by name, in pages of one; counts the look-ups."""

    class exceptions:  # noqa: N801
        class ParameterNotFound(ClientError):
            pass

    def __init__(self) -> None:
        self.parameters: dict[str, str] = {}
        self.asked: list[str] = []

    def get_parameter(self, *, Name: str) -> dict[str, Any]:  # noqa: N803
        self.asked.append(Name)
        if Name not in self.parameters:
            error: Any = {"Error": {"Code": "ParameterNotFound"}}
            raise self.exceptions.ParameterNotFound(error, "GetParameter")
        return {"Parameter": {"Value": self.parameters[Name]}}

    def get_paginator(self, operation: str) -> "FakeSsm":
        assert operation == "get_parameters_by_path"
        return self

    def paginate(self, *, Path: str) -> list[dict[str, Any]]:  # noqa: N803
        names = [name for name in self.parameters if name.rpartition("/")[0] == Path]
        return [{"Parameters": [{"Name": name}]} for name in names]


class EchoingRuntime:
    """Answers each input as the output of the same place, as Triton writes it.

    `errors` are raised first, one an invocation; `requests` are what was sent.
    """

    def __init__(self) -> None:
        self.errors: list[ClientError] = []
        self.requests: list[dict[str, Any]] = []

    def invoke_endpoint(self, **request: Any) -> dict[str, Any]:
        self.requests.append(request)
        if self.errors:
            raise self.errors.pop(0)
        if request["ContentType"] == "application/json":
            return self._json(json.loads(request["Body"]))
        return self._binary(request["Body"], int(request["ContentType"].removeprefix(BINARY)))

    def _json(self, asked: dict[str, Any]) -> dict[str, Any]:
        outputs = [
            {"name": out["name"], **{key: it[key] for key in ("datatype", "shape", "data")}}
            for it, out in zip(asked["inputs"], asked["outputs"], strict=True)
        ]
        assert all(out["parameters"] == {"binary_data": False} for out in asked["outputs"])
        return _answer(json.dumps({"outputs": outputs}).encode(), "application/json")

    def _binary(self, body: bytes, header_size: int) -> dict[str, Any]:
        asked, tensors = json.loads(body[:header_size]), body[header_size:]
        outputs = [
            {
                "name": out["name"],
                "datatype": it["datatype"],
                "shape": it["shape"],
                "parameters": {"binary_data_size": it["parameters"]["binary_data_size"]},
            }
            for it, out in zip(asked["inputs"], asked["outputs"], strict=True)
        ]
        assert all(out["parameters"] == {"binary_data": True} for out in asked["outputs"])
        assert len(tensors) == sum(it["parameters"]["binary_data_size"] for it in outputs)
        header = json.dumps({"model_name": "minilm", "outputs": outputs}).encode()
        return _answer(header + tensors, f"{BINARY}{len(header)}")


def _answer(body: bytes, content_type: str) -> dict[str, Any]:
    return {"Body": io.BytesIO(body), "ContentType": content_type}


class FakeSession:
    """What `EndpointClient` takes of a boto3 session."""

    def __init__(self) -> None:
        self.ssm, self.runtime = FakeSsm(), EchoingRuntime()
        self.configs: dict[str, Any] = {}
        self.region_name: str | None = "us-east-1"

    def client(self, name: str, *, config: Any = None) -> Any:
        self.configs[name] = config
        return {"ssm": self.ssm, "sagemaker-runtime": self.runtime}[name]


@pytest.fixture
def session() -> Any:
    """A session whose catalog has `minilm` in `/triton/prod/text`."""
    made = FakeSession()
    made.ssm.parameters["/triton/prod/text/minilm"] = parameter()
    return made


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Let seconds pass for `time.monotonic`."""
    now = [1000.0]

    def forward(seconds: float) -> None:
        now[0] += seconds

    monkeypatch.setattr("time.monotonic", lambda: now[0])
    return forward
